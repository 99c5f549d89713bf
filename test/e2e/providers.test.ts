/** The main job over real HTTP and SSE: three turns with two tool calls, for each protocol. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ModelServer, type ServerApi, startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { EXAMPLES, toolResults, xdev } from "../support/xdev.ts";

const APIS = { openai: "openai-completions", anthropic: "anthropic-messages" } as const;
const KEY = "sk-test-0123456789";

function configure(folder: Folder, server: ModelServer): void {
  folder.file("data/config.yml", "session: { retry: { baseDelayMs: 1 } }");
  folder.file(
    "data/models.yml",
    JSON.stringify({
      providers: {
        local: { baseUrl: server.baseUrl, apiKey: "${MY_KEY}", api: APIS[server.api], models: [{ id: "m" }] },
      },
    }),
  );
}

async function run(api: ServerApi, options: Parameters<typeof startModelServer>[0], ...args: string[]) {
  using folder = new Folder();
  const server = await startModelServer({ api, ...options });
  try {
    configure(folder, server);
    const outcome = await xdev(["-p", "go", "--data-dir", `${folder.path}/data`, ...args], {
      cwd: folder.path,
      env: { MY_KEY: KEY },
    });
    return { outcome, server, requests: server.requests };
  } finally {
    await server.close();
  }
}

for (const api of ["openai", "anthropic"] as const) {
  describe(`a run against an ${api} server`, () => {
    test("takes three turns with two tool calls, and the key reaches the server alone", async () => {
      const { outcome, requests } = await run(api, {}, "--mode", "json");
      assert.equal(outcome.status, 0, outcome.stderr);
      assert.deepEqual(toolResults(outcome), [
        ["bash", false, "one"],
        ["bash", false, "two"],
      ]);
      assert.equal(requests.length, 3);
      const { headers } = requests[0]!;
      assert.ok([headers["x-api-key"], headers.authorization].some((value) => value?.includes(KEY)));
      assert.match(headers["user-agent"] ?? "", /^xdev\//);
      assert.ok(!(outcome.stdout + outcome.stderr).includes(KEY));
    });

    test("with a process and a worker extension taking part", async () => {
      const script = [
        { toolCalls: [{ name: "bash", arguments: { command: "rm -rf x" } }] },
        { toolCalls: [{ name: "hello_extension", arguments: { name: api } }] },
        { text: "done" },
      ];
      const extensions = ["-e", `${EXAMPLES}deny-rm.py`, "-e", `${EXAMPLES}quick-start.ts`];
      const { outcome, requests } = await run(api, { script }, "--mode", "json", ...extensions);
      assert.deepEqual(toolResults(outcome), [
        ["bash", true, "blocked by extension deny-rm: rm -rf is disabled in this project"],
        ["hello_extension", false, `Hello, ${api}`],
      ]);
      assert.ok(
        JSON.stringify(requests[0]?.body).includes("hello_extension"),
        "the model was offered the tool",
      );
    });

    const failures: [string, Parameters<typeof startModelServer>[0] & object, RegExp][] = [
      ["401", { script: [{ status: 401, body: `{"error":{"message":"bad key ${KEY}"}}` }] }, /401/],
      [
        "500 for good",
        { script: Array(5).fill({ status: 500, headers: { "retry-after": "0" }, body: "{}" }) },
        /500/,
      ],
      [
        "429 for good",
        { script: Array(5).fill({ status: 429, headers: { "retry-after": "0" }, body: "{}" }) },
        /429/,
      ],
      [
        "a page of HTML",
        { script: [{ body: "<html>hi</html>", headers: { "content-type": "text/html" } }] },
        /local/,
      ],
      [
        "a connection closed in the middle",
        { script: Array(5).fill({ text: "half of it", end: "close" }) },
        /local/,
      ],
      ["an answer cut in the middle", { script: Array(5).fill({ text: "half of it", end: "cut" }) }, /local/],
    ];
    for (const [what, options, reason] of failures) {
      test(`${what} is a clear message and status 1`, async () => {
        const { outcome } = await run(api, options);
        assert.equal(outcome.status, 1, outcome.stdout);
        assert.match(outcome.stderr, /^xdev: /);
        assert.match(outcome.stderr, reason);
        assert.ok(!outcome.stderr.includes(KEY), "the key is not in the message");
        assert.doesNotMatch(outcome.stderr, /\n\s+at /, "no stack");
      });
    }

    test("a 429 with Retry-After is tried again, and the run goes on", async () => {
      const script = [{ status: 429, headers: { "retry-after": "0" }, body: "{}" }, { text: "done" }];
      const { outcome, requests } = await run(api, { script });
      assert.deepEqual([outcome.status, outcome.stdout, requests.length], [0, "done\n", 2]);
    });

    test("the system prompt with the tools' descriptions stays under 1,000 tokens", async () => {
      const { requests } = await run(api, { script: [{ text: "ok" }] });
      const body = requests[0]?.body as { system?: unknown; messages: { role: string }[]; tools: unknown };
      const system = body.system ?? body.messages.filter(({ role }) => role === "system");
      // 3.5 characters a token is the low end for English and JSON.
      const tokens = (JSON.stringify(system).length + JSON.stringify(body.tools).length) / 3.5;
      assert.ok(tokens < 1000, `${Math.round(tokens)} tokens`);
    });
  });
}
