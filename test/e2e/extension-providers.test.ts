/** Model providers that modules bring, in the compiled program: runs, logins, and that secrets are nowhere. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { guestProvider } from "../fixtures/guest-provider.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { onTerminal } from "../support/terminal.ts";
import { EXAMPLES, events, type Outcome, start, toolResults, xdev } from "../support/xdev.ts";

class Scene {
  readonly folder = new Folder();
  readonly env: Record<string, string>;

  constructor(config = "extensionHost: {allowProviders: [mine, shouter]}") {
    this.folder.file("data/config.yml", config);
    this.folder.file("work/x", "");
    this.env = { HOME: `${this.folder.path}/home`, XDEV_DATA_DIR: `${this.folder.path}/data` };
  }

  /** The example of the manual. */
  shouter(): this {
    this.folder.file("data/extensions/shouter.ts", readFileSync(`${EXAMPLES}provider.ts`, "utf8"));
    return this;
  }

  mine(config?: string, more?: string): this {
    this.folder.file("data/extensions/mine.ts", guestProvider(config, more));
    return this;
  }

  xdev(words: readonly string[], input?: string): Promise<Outcome> {
    const options = { env: this.env, cwd: `${this.folder.path}/work` };
    return xdev(words, input === undefined ? options : { ...options, input });
  }

  /** All that was written below the data dir, but the credentials themselves. */
  written(): string {
    const names = readdirSync(`${this.folder.path}/data`, { recursive: true, withFileTypes: true });
    return names
      .filter(
        (entry) => entry.isFile() && entry.name !== "auth.json" && !entry.parentPath.includes("/extensions"),
      )
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
      .join("\n");
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
  }
}

describe("a run with a module's model", () => {
  test("streams its answer in order, and goes on with it later", async () => {
    using scene = new Scene().mine();
    const outcome = await scene.xdev(["-p", "go", "--mode", "json", "--model", "mine/words"]);
    assert.equal(outcome.status, 0, outcome.stderr);
    const parts = events(outcome).flatMap(({ type, assistantMessageEvent: part }) =>
      type === "message_update"
        ? [(part as { delta?: string; type: string }).delta ?? (part as { type: string }).type]
        : [],
    );
    assert.deepEqual(parts, ["text_start", "one ", "two ", "three", "text_end"]);
    const again = await scene.xdev(["-p", "more", "--continue"]);
    assert.deepEqual([again.status, again.stdout], [0, "one two three\n"], again.stderr);
  });

  test("puts the tool calls that it asks for before the same policies as any other", async () => {
    using scene = new Scene().mine();
    const precious = scene.folder.file("work/precious/thing", "still here");
    const words = ["-p", "go", "--mode", "json", "--model", "mine/tools", "-e", `${EXAMPLES}deny-rm.py`];
    const outcome = await scene.xdev(words);
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.deepEqual(toolResults(outcome), [
      ["bash", true, "blocked by extension deny-rm: rm -rf is disabled in this project"],
    ]);
    assert.equal(readFileSync(precious, "utf8"), "still here");
    assert.match(outcome.stdout, /the tool said /, "the result went to the model");
  });

  test("lets other modules see and change its requests, and hear of the responses", async () => {
    using scene = new Scene().mine();
    scene.folder.file(
      "data/extensions/watch.ts",
      `export default (pi) => {
        pi.on("before_provider_request", ({ payload }) => ({ ...payload, seen: true }));
        pi.on("after_provider_response", ({ status, headers }) => console.log("response", status, JSON.stringify(headers)));
      };`,
    );
    assert.equal((await scene.xdev(["ext", "grant", "watch", "--session=write"])).status, 0);
    const outcome = await scene.xdev(["-p", "hi", "--model", "mine/payload", "--verbose"]);
    assert.match(outcome.stdout, /"seen":true/);
    assert.match(outcome.stderr, /response 201 \{"x-from":"it"\}/, "without what sets cookies");
  });

  test("that fails is status 1 with the reason, and says nothing of the key", async () => {
    using scene = new Scene().mine(`{ apiKey: "sk-its-own-key" }`);
    const outcome = await scene.xdev(["-p", "go", "--model", "mine/throws"]);
    assert.equal(outcome.status, 1);
    assert.match(
      outcome.stderr,
      /^xdev: provider "mine": extension mine failed: the key \[secret\] was refused/m,
    );
    assert.doesNotMatch(outcome.stderr, /\n\s+at /, "no stack");
  });

  test("ends at once when the user interrupts it", async () => {
    using scene = new Scene().mine();
    const { child, ended } = start(["-p", "go", "--mode", "json", "--model", "mine/silent"], {
      env: scene.env,
    });
    child.stdout!.on("data", (text: string) => {
      if (text.includes("then nothing")) child.kill("SIGINT");
    });
    const outcome = await ended;
    assert.equal(outcome.status, 130, outcome.stderr);
  });

  for (const [api, call] of [
    ["anthropic", "anthropicMessagesApi"],
    ["openai", "openAICompletionsApi"],
  ] as const) {
    test(`may have an ${api} server of its own asked: by its own rights, with its own key, and none of the user's`, async () => {
      const server = await startModelServer({ api, script: [{ text: "from its server" }] });
      try {
        using scene = new Scene("session: { retry: { baseDelayMs: 1 } }");
        scene.folder.file(
          "data/extensions/proxy.ts",
          `import { ${call} } from "@earendil-works/pi-ai";
           export default (pi) => pi.registerProvider("proxy", {
             api: "proxy-api", apiKey: "sk-of-the-proxy", models: [{ id: "m" }],
             streamSimple: (model, context, options) => ${call}().streamSimple(
               { ...model, baseUrl: ${JSON.stringify(server.baseUrl.replace(/\/v1$/, api === "anthropic" ? "" : "/v1"))} },
               context,
               { ...options, apiKey: "sk-from-" + options.apiKey, headers: { "x-team": "blue", "x-none": null } },
             ),
           });`,
        );
        scene.env.ANTHROPIC_API_KEY = scene.env.OPENAI_API_KEY = "sk-ant-the-users";
        assert.equal((await scene.xdev(["ext", "grant", "proxy", "--provider"])).status, 0);
        const refused = await scene.xdev(["-p", "go", "--model", "proxy/m"]);
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, /EACCES|permission net|--net=127\.0\.0\.1/);
        assert.equal(server.requests.length, 0, "nothing was sent without the right");
        const { host } = new URL(server.baseUrl);
        assert.equal((await scene.xdev(["ext", "grant", "proxy", `--net=${host}`])).status, 0);
        const outcome = await scene.xdev(["-p", "go", "--model", "proxy/m", "--system-prompt", "be brief"]);
        assert.deepEqual([outcome.status, outcome.stdout], [0, "from its server\n"], outcome.stderr);
        const [request] = server.requests;
        const key = request?.headers["x-api-key"] ?? request?.headers.authorization;
        assert.match(String(key), /sk-from-sk-of-the-proxy$/);
        assert.equal(request?.headers["x-team"], "blue");
        const { system, messages } = request!.body as { system?: unknown; messages: { role: string }[] };
        const prompts = system ?? messages.filter(({ role }) => /system|developer/.test(role));
        assert.equal(JSON.stringify(prompts).split("be brief").length, 2, "the prompt is said once");
        assert.ok(!JSON.stringify(server.requests).includes("sk-ant-the-users"));
      } finally {
        await server.close();
      }
    });
  }

  test("can't ask itself for ever", async () => {
    using scene = new Scene("extensionHost: {allowProviders: [loop]}");
    scene.folder.file(
      "data/extensions/loop.ts",
      `import { streamSimple } from "@earendil-works/pi-ai";
       export default (pi) => pi.registerProvider("loop", { api: "loop", models: [{ id: "m" }], streamSimple });`,
    );
    assert.equal((await scene.xdev(["ext", "grant", "loop", "--model"])).status, 0);
    const outcome = await scene.xdev(["-p", "go", "--model", "loop/m"]);
    assert.equal(outcome.status, 1, outcome.stdout);
    assert.match(outcome.stderr, /this extension is answering itself|is answering \d+ requests/);
  });

  test("without the right, or without the extension, is an error that says what to do", async () => {
    using scene = new Scene("").mine();
    const refused = await scene.xdev(["-p", "go", "--model", "mine/words"]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /extension mine wants to register a model provider.*xdev ext grant/);
    assert.equal((await scene.xdev(["ext", "grant", "mine", "--provider"])).status, 0);
    assert.equal((await scene.xdev(["-p", "go", "--model", "mine/words"])).stdout, "one two three\n");
    const absent = await scene.xdev(["-p", "go", "--model", "mine/words", "--no-extensions"]);
    assert.equal(absent.status, 2);
    assert.match(
      absent.stderr,
      /there is no provider "mine"[\s\S]*If an extension brings it: `xdev ext list`/,
    );
  });
});

describe("xdev models", () => {
  test("lists what extensions bring, and why that can't be used", async () => {
    using scene = new Scene().shouter().mine();
    const { stdout } = await scene.xdev(["models"]);
    assert.match(stdout, /^mine \(extension mine\)\n {2}mine\/words {2}100k tokens$/m);
    assert.match(stdout, /^ {2}shouter: nobody is logged in \(xdev login shouter\)$/m);
    const listing = JSON.parse((await scene.xdev(["models", "--json"])).stdout);
    const [mine] = listing.providers.filter(({ name }: { name: string }) => name === "mine");
    assert.deepEqual([mine.source, mine.extension, mine.usable], ["extension", "mine", true]);
    assert.doesNotMatch((await scene.xdev(["models", "--no-extensions"])).stdout, /mine/);
  });
});

describe("xdev login", () => {
  const SECRETS = ["hunter2-secret", "token-of-hunter2-secret"];

  test("logs in at the terminal, the run uses it, and logout forgets it; its secrets are nowhere else", async () => {
    using scene = new Scene().shouter();
    const password = ["Password (any will do):", "hunter2-secret\n"] as const;
    // What its code does is asked about as at any first load.
    const load = ["[D]eny: ", "a\n"] as const;
    const { status, screen } = await onTerminal(["login", "shouter"], scene.env, [load, password]);
    assert.equal(status, 0, screen);
    assert.match(screen, /logged in to shouter \(Shouter\) with extension shouter/);
    const file = `${scene.folder.path}/data/auth.json`;
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, "utf8"), /token-of-hunter2-secret/);
    assert.match(
      (await scene.xdev(["login"])).stdout,
      /^shouter {2}Shouter {2}extension shouter {2}logged in$/m,
    );

    const outcomes = [
      await scene.xdev(["-p", "are you there", "--verbose", "--mode", "json"]),
      await scene.xdev(["models", "--json", "--verbose"]),
      await scene.xdev(["ext", "trace", "shouter", "--model", "shouter/loud", "--", "hello"]),
      await scene.xdev(["logout"]),
    ];
    assert.match(outcomes[0]!.stdout, /ARE YOU THERE!/, outcomes[0]!.stderr);
    assert.match(outcomes[2]!.stdout, /"apiKey":"\[secret\]"/);
    assert.match(outcomes[3]!.stdout, /^shouter {2}by extension shouter /);
    for (const { stdout, stderr } of outcomes) {
      for (const secret of SECRETS) assert.ok(!(stdout + stderr).includes(secret), "a secret was printed");
    }
    for (const secret of SECRETS) assert.ok(!scene.written().includes(secret), "a secret was written");

    assert.deepEqual((await scene.xdev(["logout", "shouter"])).stdout, "logged out of shouter\n");
    assert.ok(!readFileSync(file, "utf8").includes("hunter2"));
    const after = await scene.xdev(["-p", "and now", "--model", "shouter/loud"]);
    assert.equal(after.status, 2);
    assert.match(
      after.stderr,
      /provider "shouter" can't be used: nobody is logged in \(xdev login shouter\)/,
    );
    assert.equal((await scene.xdev(["logout", "shouter"])).status, 1);
  });

  test("takes its answers from a pipe, one line each; without one nobody is logged in", async () => {
    using scene = new Scene().shouter();
    const nobody = await scene.xdev(["login", "shouter"]);
    assert.equal(nobody.status, 1);
    assert.match(nobody.stderr, /there is nobody to answer/);
    assert.ok(!existsSync(`${scene.folder.path}/data/auth.json`));
    const piped = await scene.xdev(["login", "shouter"], "hunter2-secret\n");
    assert.equal(piped.status, 0, piped.stderr);
    assert.ok(!(piped.stdout + piped.stderr).includes("hunter2"));
  });

  test("says what there is instead for a provider without a login", async () => {
    using scene = new Scene().shouter();
    const builtin = await scene.xdev(["login", "openai"]);
    assert.equal(builtin.status, 2);
    assert.match(builtin.stderr, /openai takes a key, and no login\n {2}set OPENAI_API_KEY/);
    const unknown = await scene.xdev(["login", "nobody"]);
    assert.equal(unknown.status, 2);
    assert.match(
      unknown.stderr,
      /no extension that is loaded brings a login to nobody\n {2}there is one to: shouter/,
    );
  });
});
