/** The client that stands in a guest in the place of OpenAI's SDK: pure code, tried here without a sandbox. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import OpenAI from "../../../sandbox/guest/host/ai/protocols/openai-client.ts";

/** What the client sends, answered by these pieces of a body. */
function client(
  pieces: readonly string[],
  init: ResponseInit = {},
  headers: Record<string, string | null> = {},
) {
  const requests: { url: string; init: RequestInit }[] = [];
  const encoder = new TextEncoder();
  const fetch = (async (url: string, given: RequestInit) => {
    requests.push({ url, init: given });
    given.signal?.throwIfAborted();
    const body = new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        controller.close();
      },
    });
    return new Response(body, init);
  }) as typeof globalThis.fetch;
  const baseURL = "https://api.example.com/v1/";
  return { requests, openai: new OpenAI({ apiKey: "k", baseURL, fetch, defaultHeaders: headers }) };
}

async function events(pieces: readonly string[]): Promise<unknown[]> {
  const { data } = await client(pieces).openai.chat.completions.create({}).withResponse();
  const all: unknown[] = [];
  for await (const event of data) all.push(event);
  return all;
}

describe("the client of OpenAI's protocol", () => {
  const text =
    'data: {"a":"é你"}\n\n: a comment\n\ndata: {"b":\ndata: 2}\r\n\r\nevent: x\ndata: {"c":3}\n\ndata: [DONE]\n\ndata: {"late":1}\n\n';

  test("gives the same events however the body is cut", async () => {
    const wanted = [{ a: "é你" }, { b: 2 }, { c: 3 }];
    assert.deepEqual(await events([text]), wanted);
    assert.deepEqual(await events([...text]), wanted);
    for (let at = 1; at < text.length; at += 7) {
      assert.deepEqual(await events([text.slice(0, at), text.slice(at)]), wanted, String(at));
    }
  });

  test("gives the last event also without an empty line behind it", async () => {
    assert.deepEqual(await events(['data: {"a":1}\n\ndata: {"b":2}']), [{ a: 1 }, { b: 2 }]);
  });

  test("sends the key and the headers; null takes one away", async () => {
    const { openai, requests } = client(["data: [DONE]\n\n"], {}, { "x-mine": "1", authorization: null });
    await openai.responses.create({ model: "m" }).withResponse();
    const [{ url, init }] = requests as [{ url: string; init: RequestInit }];
    assert.equal(url, "https://api.example.com/v1/responses");
    assert.equal(init.body, '{"model":"m"}');
    const sent = new Headers(init.headers);
    assert.deepEqual([sent.get("x-mine"), sent.get("authorization")], ["1", null]);
  });

  test("an error has the status, the headers and what the server said", async () => {
    const { openai } = client(['{"error":{"message":"slow down"}}'], {
      status: 429,
      headers: { "retry-after": "2" },
    });
    const failed = openai.chat.completions.create({}).withResponse();
    await assert.rejects(failed, (error: InstanceType<typeof OpenAI.APIError>) => {
      assert.deepEqual(
        [error.message, error.status, error.error],
        ["429 slow down", 429, { message: "slow down" }],
      );
      assert.equal(error.headers?.get("retry-after"), "2");
      return true;
    });
    await assert.rejects(events(['data: {"error":{"message":"overloaded"}}\n\n']), /overloaded/);
  });

  test("an abort is the signal's own error, a failed connection has its cause", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(client([]).openai.chat.completions.create({}, { signal }).withResponse(), /enough/);
    const fetch = (async () => {
      throw new Error("no route");
    }) as unknown as typeof globalThis.fetch;
    const lost = new OpenAI({ fetch }).chat.completions.create({}).withResponse();
    await assert.rejects(lost, ({ message, cause }: Error) => {
      assert.deepEqual([message, (cause as Error).message], ["Connection error.", "no route"]);
      return true;
    });
  });
});
