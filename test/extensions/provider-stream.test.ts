/** `streamSimple` of a module as a model: what crosses, how fast, and what becomes of everything that goes wrong. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Api, AssistantMessageEvent, Model, TranscriptContext } from "@earendil-works/pi-ai";
import type { Extension } from "../../src/extensions/extension.ts";
import { guestEvents } from "../../src/extensions/provider-stream.ts";
import { guestProvider } from "../fixtures/guest-provider.ts";
import { Folder } from "../support/folder.ts";
import { GuestProviders } from "../support/guest-providers.ts";

const textOf = ({ content }: { content: readonly { type: string }[] }) =>
  content.map((part) => (part as { text?: string }).text ?? "").join("");

describe("a module's model", () => {
  let folder: Folder;
  let guest: GuestProviders;
  before(async () => {
    folder = new Folder();
    guest = await GuestProviders.load(folder, { mine: guestProvider(`{ apiKey: "sk-its-own-key" }`) });
    assert.deepEqual(guest.notices, []);
  });
  after(async () => {
    await guest[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("gives its events in their order, and its final message", async () => {
    const { events, message } = await guest.answer("mine/words");
    assert.deepEqual(
      events.map((event) => ("delta" in event ? event.delta : event.type)),
      ["start", "text_start", "one ", "two ", "three", "text_end", "done"],
    );
    assert.equal(textOf(message), "one two three");
    assert.deepEqual(
      [message.provider, message.model, message.api, message.stopReason],
      ["mine", "words", "mine-api", "stop"],
    );
  });

  test("is told the conversation, its own key, and what of the options is data", async () => {
    await guest.answer("mine/words", { maxTokens: 77, sessionId: "s1" });
    const { options } = (await guest.seen()) as { options: Record<string, unknown> };
    assert.equal(options.apiKey, "sk-its-own-key");
    assert.deepEqual([options.maxTokens, options.sessionId], [77, "s1"]);
    assert.deepEqual(
      Object.keys(options).filter((name) => /fetch|identity|env/.test(name)),
      [],
    );
  });

  test("finds the prompt and the tools also where earlier versions have them", async () => {
    const { message } = await guest.answer("mine/legacy");
    assert.equal(textOf(message), "prompt tools enumerable messages");
  });

  test("may end without a final part if it has a result", async () => {
    const { message } = await guest.answer("mine/result");
    assert.deepEqual([textOf(message), message.stopReason], ["by its result", "stop"]);
  });

  test("lets others see and change its request, and tells them the response", async () => {
    const told: unknown[] = [];
    const { message } = await guest.answer("mine/payload", {
      onPayload: async (payload) => ({ ...(payload as object), more: 1 }),
      onResponse: (response) => void told.push(response),
    });
    assert.equal(textOf(message), '{"question":"hello","more":1}');
    assert.deepEqual(told, [{ status: 201, headers: { "x-from": "it", "set-cookie": "secret" } }]);
    assert.equal(textOf((await guest.answer("mine/payload")).message), '"unchanged"');
  });

  test("is read only as fast as its answer is taken", async () => {
    const stream = await guest.ask("mine/fast");
    const reader = stream[Symbol.asyncIterator]();
    for (let taken = 0; taken < 10; taken++) await reader.next();
    // Whatever could come by now has come: each of these is a round trip behind it.
    for (let trip = 0; trip < 20; trip++) await guest.seen();
    const { yielded } = await guest.seen();
    assert.ok((yielded as number) < 300, `${String(yielded)} of 4000 parts were made`);
    let deltas = 0;
    for (let next = await reader.next(); !next.done; next = await reader.next()) {
      if (next.value.type === "text_delta") deltas++;
    }
    assert.ok(deltas > 3980);
    assert.equal((await guest.seen()).yielded, 4000);
    assert.equal(guest.extension("mine").state, "ready", "so many parts are not too many frames");
  });

  test("is heard to its end by somebody who only wants the result", async () => {
    const message = await (await guest.ask("mine/fast")).result();
    assert.equal(textOf(message), "much");
  });

  test("is told when the request is aborted; what it said so far stays", async () => {
    const abort = new AbortController();
    const stream = await guest.ask("mine/silent", { signal: abort.signal });
    for await (const event of stream) if (event.type === "text_delta") abort.abort();
    const message = await stream.result();
    assert.deepEqual([message.stopReason, textOf(message)], ["aborted", "then nothing"]);
    assert.equal((await guest.seen()).aborted, true);
    assert.equal(guest.extension("mine").state, "ready");
  });

  test("fails when it is silent for too long, and is told that nobody waits any more", async () => {
    const { message } = await guest.answer("mine/silent", {}, { tuning: { idleMs: 50 } });
    assert.equal(message.stopReason, "error");
    assert.match(
      message.errorMessage!,
      /^provider "mine": extension mine has sent nothing of its answer for 50 ms/,
    );
    assert.equal((await guest.seen()).aborted, true);
    assert.equal(guest.extension("mine").state, "ready");
  });

  test("fails when its answer has no end", async () => {
    const { message } = await guest.answer("mine/endless");
    assert.match(message.errorMessage!, /an answer of more than \d+ bytes/);
    assert.equal((await guest.seen()).ended, true, "and its generator is ended");
  });

  test("fails when it throws, and its key is in no error", async () => {
    const { message } = await guest.answer("mine/throws");
    assert.match(message.errorMessage!, /extension mine failed: the key \[secret\] was refused/);
  });

  test("fails when it ends without saying how", async () => {
    const { message } = await guest.answer("mine/stops");
    assert.match(message.errorMessage!, /ended its answer without saying how it ends/);
  });

  test("fails when it gives nothing that can be read", async () => {
    const { message } = await guest.answer("mine/nothing");
    assert.match(message.errorMessage!, /streamSimple gave nothing that can be iterated/);
  });

  test("fails when it gives too much at once", async () => {
    const { message } = await guest.answer("mine/large");
    assert.equal(message.stopReason, "error");
    assert.match(message.errorMessage!, /cannot be sent|more than/);
    assert.equal(guest.extension("mine").state, "ready");
  });

  for (const what of [
    ...["type", "list", "text", "index", "order", "delta", "message", "arguments", "usage", "role"],
  ]) {
    test(`fails when its stream has rubbish in it (${what}), and nothing of that is in the answer`, async () => {
      const { events, message } = await guest.answer(`mine/rubbish-${what}`);
      assert.deepEqual([message.stopReason, message.content], ["error", []]);
      assert.match(message.errorMessage!, /^provider "mine": extension mine (gave|failed: its stream gave)/);
      assert.deepEqual(
        events.map(({ type }) => type),
        ["start", "error"],
      );
    });
  }
});

describe("a module with a model", () => {
  test("that says at once and for ever that there is nothing yet does not keep the host busy", async () => {
    const asked: unknown[] = [];
    const extension = {
      name: "mine",
      limits: { eventTimeoutMs: 100, maxFrameBytes: 1e6 },
      request: async (_event: string, payload: unknown) => {
        asked.push(payload);
        return { type: "response", result: { parts: [], isOver: false } };
      },
    } as unknown as Extension;
    const request = {
      extension,
      provider: "mine",
      model: { id: "m", provider: "mine", api: "a" } as Model<Api>,
      context: { messages: [] } as unknown as TranscriptContext,
      options: {},
      idleMs: 200,
    };
    const events: AssistantMessageEvent[] = [];
    for await (const event of guestEvents(request)) events.push(event);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["error"],
    );
    assert.ok(asked.length < 10, `it was asked ${asked.length} times`);
  });

  test("that hangs is ended, and the request has failed", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(
      folder,
      { mine: guestProvider() },
      { settings: { eventTimeoutMs: 300, onDeath: "prune" } },
    );
    const { message } = await guest.answer("mine/loops");
    assert.match(message.errorMessage!, /extension mine did not answer provider_stream within 300 ms/);
    const again = await guest.answer("mine/words");
    assert.match(again.message.errorMessage!, /extension mine did not answer/, "and so has every later one");
  });

  test("that ends in the middle of an answer has failed, and what it said so far stays", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(folder, { mine: guestProvider() });
    const stream = await guest.ask("mine/silent");
    for await (const event of stream) {
      if (event.type === "text_delta") void guest.extension("mine").stop(0);
    }
    const message = await stream.result();
    assert.deepEqual([message.stopReason, textOf(message)], ["error", "then nothing"]);
    assert.match(message.errorMessage!, /extension mine was stopped/);
  });

  test("that takes its provider back answers nothing more", async () => {
    using folder = new Folder();
    const more = `pi.registerCommand("back", { handler: () => pi.unregisterProvider("mine") });`;
    await using guest = await GuestProviders.load(folder, { mine: guestProvider("{}", more) });
    const held = await guest.ask("mine/words");
    await held.result();
    await guest.extension("mine").request("command", { command: "back", arguments: "" }, { timeoutMs: 5000 });
    await assert.rejects(guest.ask("mine/words"), /there is no provider "mine"/);
  });

  test("may register one later as well", async () => {
    using folder = new Folder();
    const text = `export default (pi) => {
      pi.registerCommand("late", { handler: () => pi.registerProvider("late", {
        models: [{ id: "m" }],
        async *streamSimple() { yield { type: "done", reason: "stop", message: { content: [{ type: "text", text: "late" }] } }; },
      }) });
    };`;
    await using guest = await GuestProviders.load(folder, { late: text });
    await guest.extension("late").request("command", { command: "late", arguments: "" }, { timeoutMs: 5000 });
    await guest.providers.begin(guest.manager.extensions);
    assert.equal(textOf((await guest.answer("late/m")).message), "late");
  });
});
