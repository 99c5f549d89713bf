import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { resolveModel } from "../../src/models/index.ts";
import type { ServerTurn } from "../fixtures/model-server.ts";
import { ask, modelsYml, resolveServer, resolveWith, textOf, withFolder, withServer } from "./helpers.ts";

const EVENTS = { "content-type": "text/event-stream" };
const LONG = "a text that is long enough for several parts of a stream";

for (const api of ["openai", "anthropic"] as const) {
  const failing = async (turns: ServerTurn[], idleMs = 60_000) =>
    withServer({ api, script: turns }, async (server) => {
      const { message } = await ask(await resolveServer(server, { tuning: { retryBaseMs: 1, idleMs } }));
      assert.equal(message.stopReason, "error");
      return { text: message.errorMessage ?? "", message, requests: server.requests.length };
    });

  describe(`a provider that speaks ${api}`, () => {
    test("its text and its tool calls arrive whole, arguments in pieces included", async () => {
      const toolCalls = [{ name: "bash", arguments: { command: 'echo "hi there"', deep: { list: [1, 2] } } }];
      await withServer({ api, script: [{ text: LONG, toolCalls }] }, async (server) => {
        const { message, events } = await ask(await resolveServer(server));
        assert.equal(textOf(message), LONG);
        assert.equal(message.stopReason, "toolUse");
        const call = message.content.find((part) => part.type === "toolCall");
        assert.deepEqual(call?.arguments, toolCalls[0]?.arguments);
        assert.ok(events.filter((event) => event.type === "text_delta").length > 1);
        assert.ok(message.usage.totalTokens > 0);
      });
    });

    test("a 401 is told with its reason and where the key is, and is not retried", async () => {
      const { text, requests } = await failing([
        { status: 401, body: '{"error":{"message":"no such key"}}' },
      ]);
      assert.match(
        text,
        /^provider "x" answered 401 Unauthorized: no such key\nCheck the key: providers\.x\.apiKey in .*models\.yml\.$/,
      );
      assert.equal(requests, 1);
    });

    for (const status of [400, 404]) {
      test(`a ${status} is not retried`, async () => {
        const { text, requests } = await failing([{ status, body: '{"error":{"message":"no"}}' }]);
        assert.ok(text.startsWith(`provider "x" answered ${status} `), text);
        assert.equal(requests, 1);
      });
    }

    test("a 500 is retried three times, and then told", async () => {
      const { text, requests } = await failing([
        { status: 500 },
        { status: 503 },
        { status: 500 },
        { status: 502, body: "<title>Bad luck</title>" },
      ]);
      assert.equal(text, 'provider "x" answered 502 Bad Gateway after 3 retries: Bad luck');
      assert.equal(requests, 4);
    });

    test("a 429 and a 500 that pass go unnoticed", async () => {
      const script = [{ status: 429, headers: { "retry-after": "0" } }, { status: 500 }, { text: "Here." }];
      await withServer({ api, script }, async (server) => {
        const { message } = await ask(await resolveServer(server));
        assert.equal(textOf(message), "Here.");
        assert.equal(message.stopReason, "stop");
      });
    });

    for (const [what, turn, pattern] of [
      [
        "a page with status 200",
        { body: "<html><title>Sign in</title></html>", headers: { "content-type": "text/html" } },
        /200 OK \(text\/html\) but not with a model's stream: Sign in/,
      ],
      [
        "an error with status 200",
        { body: '{"error":{"message":"still loading"}}' },
        /not with a model's stream: still loading/,
      ],
      ["an empty body", { body: "", headers: EVENTS }, /an empty answer/],
      [
        "JSON that is none in an event",
        { body: 'event: message_start\ndata: {"choices": [}\n\n', headers: EVENTS },
        /garbage in its stream: \{"choices": \[\}/,
      ],
      [
        "an error event",
        {
          body: 'event: error\ndata: {"type":"error","error":{"message":"overloaded"}}\n\n',
          headers: EVENTS,
        },
        /an error in its stream: overloaded/,
      ],
      [
        "a connection closed in the middle",
        { text: LONG, end: "close" },
        /closed the connection in the middle of its answer/,
      ],
      [
        "an answer that ends in the middle",
        { text: LONG, end: "cut" },
        /closed the connection before its answer was complete/,
      ],
      [
        "a redirect",
        { status: 307, headers: { location: "http://127.0.0.1:1/" } },
        /307 Temporary Redirect\nIt redirects to http:\/\/127\.0\.0\.1:1\//,
      ],
    ] satisfies [string, ServerTurn, RegExp][]) {
      test(`${what} is an error that says so, not a short answer`, async () => {
        const { text } = await failing([turn]);
        assert.match(text, pattern);
        assert.ok(text.startsWith('provider "x" '), text);
      });
    }

    for (const end of ["stall", "silent"] as const) {
      test(`a server that goes ${end === "stall" ? "quiet within its answer" : "quiet before it"} is given up after the idle limit`, async () => {
        const { text } = await failing([{ text: LONG, end }], 100);
        assert.equal(text, 'provider "x" timed out: it sent nothing for 100 ms');
      });
    }

    test("an abort ends a waiting request at once, as aborted", async () => {
      await withServer({ api, script: [{ text: LONG, end: "stall" }] }, async (server) => {
        const abort = new AbortController();
        const asked = ask(await resolveServer(server), { signal: abort.signal });
        const request = await server.request(0);
        abort.abort();
        assert.equal((await asked).message.stopReason, "aborted");
        await request.closed;
      });
    });

    test("no header tells more than the request needs", async () => {
      await withServer({ api, script: [{ text: "ok" }] }, async (server) => {
        await ask(await resolveServer(server));
        const headers = server.requests[0]?.headers ?? {};
        assert.match(headers["user-agent"] ?? "", /^xdev\/\d/);
        const telling = Object.keys(headers).filter((name) =>
          /^x-stainless|^openai-|referer|x-title|^authorization|^x-api-key/.test(name),
        );
        assert.deepEqual(telling, []);
        assert.ok(!JSON.stringify(headers).includes("pi/"));
      });
    });
  });
}

test("a server can't write on the terminal, fill the screen or show the key it was sent", async () => {
  const echo = `\u001b]0;evil\u0007\u001b[31mkey sk-very-secret-1 is bad\u0000 ${"x".repeat(5000)}`;
  await withServer(
    { script: [{ status: 401, body: JSON.stringify({ error: { message: echo } }) }] },
    async (server) => {
      const resolved = await resolveWith(modelsYml(server.baseUrl, { apiKey: `"\${TEST_KEY}"` }), {
        env: { TEST_KEY: "sk-very-secret-1" },
      });
      const { message } = await ask(resolved);
      assert.equal(server.requests[0]?.headers.authorization, "Bearer sk-very-secret-1");
      const text = message.errorMessage ?? "";
      assert.match(text, /key \[secret\] is bad/);
      assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f]|evil/);
      assert.ok(text.length < 800);
      assert.ok(!JSON.stringify(resolved.model).includes("sk-very"));
    },
  );
});

test("a server that is not there is told with its address", async () => {
  const port = await withServer({}, async (server) => server.port);
  const { message } = await ask(await resolveWith(modelsYml(`http://127.0.0.1:${port}/v1`)));
  assert.equal(
    message.errorMessage,
    `provider "x": connection refused at http://127.0.0.1:${port}/v1. Is the server running?`,
  );
});

test("a name that does not resolve and a connection that is not secure are told apart", async () => {
  const dns = await ask(await resolveWith(modelsYml("http://no-such-host.invalid/v1", { apiKey: "none" })));
  assert.match(dns.message.errorMessage ?? "", /no-such-host\.invalid\/v1 was not found \(DNS\)/);
  await withServer({}, async (server) => {
    const tls = await ask(await resolveWith(modelsYml(`https://127.0.0.1:${server.port}/v1`)));
    assert.match(tls.message.errorMessage ?? "", /\(TLS\)/);
  });
});

test("an aborted wait for a retry ends the run without another request", async () => {
  await withServer({ script: [{ status: 429, headers: { "retry-after": "50" } }] }, async (server) => {
    const abort = new AbortController();
    const resolved = await resolveServer(server, { tuning: { onRetry: () => abort.abort() } });
    const { message } = await ask(resolved, { signal: abort.signal });
    assert.equal(message.stopReason, "aborted");
    assert.equal(server.requests.length, 1);
  });
});

test("a Retry-After longer than the limit is told instead of waited for", async () => {
  await withServer({ script: [{ status: 429, headers: { "retry-after": "3600" } }] }, async (server) => {
    const { message } = await ask(await resolveServer(server));
    assert.match(message.errorMessage ?? "", /asks for a retry delay of 3600 s/);
    assert.equal(server.requests.length, 1);
  });
});

test("a quota that is used up is not retried, though it is a 429", async () => {
  await withServer(
    { script: [{ status: 429, body: '{"error":{"code":"insufficient_quota","message":"pay"}}' }] },
    async (server) => {
      const { message } = await ask(await resolveServer(server));
      assert.match(message.errorMessage ?? "", /429 Too Many Requests: pay \(insufficient_quota\)/);
      assert.equal(server.requests.length, 1);
    },
  );
});

test("a 429 with Retry-After is retried after that time, in seconds or as a date", async () => {
  const date = new Date(Date.now() + 2000).toUTCString();
  const script = [
    { status: 429, headers: { "retry-after": "0.2" } },
    { status: 503, headers: { "retry-after": date } },
    { text: "ok" },
  ];
  await withServer({ script }, async (server) => {
    const waits: number[] = [];
    const { message } = await ask(
      await resolveServer(server, { tuning: { onRetry: ({ waitMs }) => waits.push(waitMs) } }),
    );
    assert.equal(message.stopReason, "stop");
    const [first, second, third] = server.requests.map((request) => request.at);
    assert.equal(waits[0], 200);
    assert.ok(second! - first! >= 195, "it waited as long as asked");
    assert.ok(waits[1]! <= 2000 && third! - second! >= waits[1]! - 5);
  });
});

test("the default script starts over with each new conversation", async () => {
  await withFolder({}, async (dataDir) => {
    await withServer({}, async (server) => {
      await withFolder({ "models.yml": modelsYml(server.baseUrl) }, async (folder) => {
        for (let run = 0; run < 2; run++) {
          const { message } = await ask(await resolveModel({ dataDir: folder, cwd: dataDir, env: {} }));
          assert.equal(message.stopReason, "toolUse");
        }
      });
    });
  });
});
