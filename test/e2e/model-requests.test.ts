/** What a module asks of models, through `pi-ai` and `ctx.modelRegistry`: by real servers on this machine that note what reaches them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { toolResults, xdev } from "../support/xdev.ts";

interface Got {
  headers: IncomingMessage["headers"];
  body: { model: string; messages: { role: string; content: unknown }[]; [member: string]: unknown };
  closed: Promise<void>;
}

/** Speaks OpenAI's protocol: answers with the words one by one; "wait" in the question is answered by half of it and no end. */
class FakeProvider {
  readonly got: Got[] = [];
  readonly #server: Server;
  #asked = Promise.withResolvers<Got>();

  constructor(words: readonly string[]) {
    this.#server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const closed = once(response, "close").then(() => {});
      const got = { headers: request.headers, body: JSON.parse(text) as Got["body"], closed };
      this.got.push(got);
      this.#asked.resolve(got);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const send = (delta: object, finish_reason: string | null = null) => {
        const choices = [{ index: 0, delta, finish_reason }];
        response.write(`data: ${JSON.stringify({ id: "r", object: "chat.completion.chunk", choices })}\n\n`);
      };
      for (const content of words) send({ content });
      if (text.includes("wait for me")) return;
      send({}, "stop");
      response.end("data: [DONE]\n\n");
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The next request. */
  asked(): Promise<Got> {
    this.#asked = Promise.withResolvers();
    return this.#asked.promise;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const KEYS = { one: "sk-one-is-secret-1", two: "sk-two-is-secret-2" };
const providers = { one: new FakeProvider(["Hello", " ", "world"]), two: new FakeProvider(["Two"]) };

/** Runs an extension whose tool gives what `body` returns, or `error: …`. */
async function run(body: string, { allow = true, turns = [] as object[], net = false, odd = {} } = {}) {
  using folder = new Folder();
  const extension = folder.file(
    "probe.ts",
    `import { complete, completeSimple, stream, streamSimple, streamSimpleAnthropic, openAICompletionsApi, getModel, getModels, getProviders, getEnvApiKey, registerApiProvider, createAssistantMessageEventStream } from "@earendil-works/pi-ai/compat";
const ask = (text) => ({ messages: [{ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }] });
export default (pi) => pi.registerTool({
  name: "probe",
  description: "",
  parameters: { type: "object", properties: {} },
  async execute(id, params, signal, onUpdate, ctx) {
    try {
      const result = await (async () => { ${body} })();
      return { content: [{ type: "text", text: typeof result === "string" ? result : JSON.stringify(result) }] };
    } catch (error) {
      return { content: [{ type: "text", text: "error: " + error.message }] };
    }
  },
});`,
  );
  const entry = (name: keyof typeof KEYS) => ({
    baseUrl: providers[name].url,
    apiKey: KEYS[name],
    headers: { "x-secret-header": `header-of-${name}` },
    models: [{ id: `model-${name}`, contextWindow: 1000, maxTokens: 100 }],
  });
  const models = {
    providers: { one: entry("one"), two: entry("two"), keyless: { ...entry("one"), apiKey: "${NOT_SET}" } },
    ...odd,
  };
  folder.file("data/models.yml", JSON.stringify(models));
  const script = [{ toolCalls: [{ name: "probe", arguments: {} }] }, ...turns, { text: "done" }];
  const replay = folder.file("replay.yml", JSON.stringify(script));
  const outcome = await xdev(
    [
      ...["-p", "go", "--mode", "json", "--model", `replay:${replay}`, "-e", extension],
      ...["--data-dir", `${folder.path}/data`],
      ...(allow ? ["--allow-all=probe"] : []),
      ...(net ? [`--allow-net=${new URL(providers.two.url).host}`] : []),
    ],
    { cwd: folder.path, env: { HOME: folder.path } },
  );
  assert.equal(outcome.status, 0, outcome.stderr);
  for (const key of [...Object.values(KEYS), "header-of-"]) {
    assert.ok(!outcome.stdout.includes(key) && !outcome.stderr.includes(key), "a secret was told");
  }
  return toolResults(outcome)[0]?.[2] ?? "";
}

const json = async (body: string, options = {}) => JSON.parse(await run(body, options)) as never;

before(async () => {
  for (const provider of Object.values(providers)) await provider.listen();
});
after(() => {
  for (const provider of Object.values(providers)) provider.close();
});

describe("a request of a module to a model", () => {
  test("goes to any model that the user has, with his key, and comes back as pi-ai's message", async () => {
    const asked = providers.two.asked();
    const message = (await json(
      `const model = ctx.modelRegistry.find("two", "model-two");
       return complete(model, { systemPrompt: "Be short.", ...ask("count") }, { maxTokens: 7, temperature: 0.5 });`,
    )) as Record<string, unknown>;
    const { headers, body } = await asked;
    assert.equal(headers.authorization, `Bearer ${KEYS.two}`);
    assert.equal(headers["x-secret-header"], "header-of-two");
    assert.equal(body.model, "model-two");
    assert.equal(body.temperature, 0.5);
    assert.match(JSON.stringify(body.messages), /Be short\..*count/);
    assert.deepEqual(
      [message.role, message.provider, message.model, message.stopReason],
      ["assistant", "two", "model-two", "stop"],
    );
    assert.deepEqual(message.content, [{ type: "text", text: "Two" }]);
  });

  test("goes to the session's own model, whatever that is", async () => {
    const message = (await json(
      `const model = ctx.model; return complete(model, ask("x")).then(({ provider, content }) => [provider === model.provider, content]);`,
      { turns: [{ text: "from the replay" }] },
    )) as unknown[];
    assert.deepEqual(message, [true, [{ type: "text", text: "from the replay" }]]);
  });

  test("streams: each event has the message so far, the last one the message", async () => {
    const [types, deltas, partials, result] = (await json(
      `const types = [], deltas = [], partials = [];
       const events = streamSimple(getModel("one", "model-one"), ask("hi"), { reasoning: "off" });
       for await (const event of events) {
         if (types.at(-1) !== event.type) types.push(event.type);
         if (event.type !== "text_delta") continue;
         deltas.push(event.delta);
         partials.push(event.partial.content[event.contentIndex].text === deltas.join(""));
       }
       return [types, deltas.join(""), partials.every(Boolean), (await events.result()).content];`,
    )) as unknown[];
    assert.deepEqual(types, ["start", "text_start", "text_delta", "text_end", "done"]);
    assert.equal(deltas, "Hello world");
    assert.equal(partials, true);
    assert.deepEqual(result, [{ type: "text", text: "Hello world" }]);
  });

  test("never goes where the module says, nor with a key, headers or a model of its own", async () => {
    const asked = providers.one.asked();
    const before = providers.two.got.length;
    await run(
      `const model = { ...getModel("one", "model-one"), baseUrl: ${JSON.stringify(providers.two.url)}, headers: { authorization: "Bearer stolen" }, api: "anthropic-messages" };
       return (await complete(model, ask("x"), { apiKey: "mine", baseUrl: ${JSON.stringify(providers.two.url)}, headers: { "x-mine": "1", authorization: "Bearer mine" }, env: { A: "b" } })).stopReason;`,
    );
    const { headers, body } = await asked;
    assert.equal(headers.authorization, `Bearer ${KEYS.one}`);
    assert.equal(headers["x-mine"], undefined);
    assert.equal(body.model, "model-one");
    assert.equal(providers.two.got.length, before);
  });

  test("is refused for what the host does not know, a file that a replay would be, and a provider without a key", async () => {
    const results = (await json(
      `const results = [];
       for (const [provider, id] of [["one", "model-two"], ["nobody", "x"], ["replay", "/etc/passwd"], ["keyless", "model-one"], [undefined, "x"]]) {
         const { stopReason, errorMessage } = await complete({ provider, id, api: "openai-completions" }, ask("x"));
         results.push([stopReason, errorMessage]);
       }
       return results;`,
    )) as [string, string][];
    assert.deepEqual(
      results.map(([reason]) => reason),
      ["error", "error", "error", "error", "error"],
    );
    const reasons = [
      /no model "model-two"/,
      /nobody/,
      /there is no model replay/,
      /keyless.*NOT_SET/,
      /provider and its id/,
    ];
    for (const [at, reason] of reasons.entries()) assert.match(results[at]![1], reason);
  });

  test("without the permission says how it is granted", async () => {
    const text = await run('return (await complete(getModel("one", "model-one"), ask("x"))).errorMessage;', {
      allow: false,
    });
    assert.match(text, /extension probe may not .*model.*xdev ext grant .* --model/);
  });

  test("of more than fits is refused before it is sent, and the module lives on", async () => {
    const before = providers.one.got.length;
    const [reason, message, after] = (await json(
      `const { stopReason, errorMessage } = await complete(getModel("one", "model-one"), ask("\\u4f60".repeat(3_000_000)));
       return [stopReason, errorMessage, (await complete(getModel("one", "model-one"), ask("x"))).stopReason];`,
    )) as string[];
    assert.equal(reason, "error");
    assert.match(message!, /the request is too large: 8\.6 MB of at most 6\.0/);
    assert.equal(after, "stop");
    assert.equal(providers.one.got.length, before + 1);
  });

  test("ends at the provider when its signal aborts, and says so", async () => {
    const asked = providers.one.asked();
    const result = await json(
      `const controller = new AbortController();
       const events = stream(getModel("one", "model-one"), ask("wait for me"), { signal: controller.signal });
       for await (const event of events) if (event.type === "text_delta") controller.abort();
       const { stopReason, content } = await events.result();
       return [stopReason, content];`,
    );
    assert.deepEqual(result, ["aborted", [{ type: "text", text: "Hello world" }]]);
    await (await asked).closed;
  });

  test("ends with the module", async () => {
    const asked = providers.one.asked();
    const text = await run(
      `const events = stream(getModel("one", "model-one"), ask("wait for me"));
       for await (const event of events) if (event.type === "text_delta") break;
       setTimeout(() => { const all = []; for (;;) all.push(setTimeout(() => {}, 1e6)); }, 0);
       await new Promise(() => {});`,
    );
    assert.match(text, /probe/);
    await (await asked).closed;
  });

  test("is one of sixteen at once: a flood is refused, not sent", async () => {
    const before = providers.one.got.length;
    const refused = await json(
      `const controller = new AbortController();
       const all = Array.from({ length: 20 }, () => completeSimple(getModel("one", "model-one"), ask("wait for me"), { signal: controller.signal }));
       const failed = await Promise.all(all.slice(16));
       controller.abort();
       const messages = await Promise.all(all);
       return [failed.map(({ errorMessage }) => errorMessage), messages.filter(({ stopReason }) => stopReason === "aborted").length];`,
    );
    const reason = "at most 16 model requests at once: wait until one of them has ended";
    assert.deepEqual(refused, [Array(4).fill(reason), 16]);
    assert.ok(providers.one.got.length - before <= 16);
  });

  test("with a key of its own to a server of its own goes out from the sandbox, by the permission net alone", async () => {
    const body = `const model = { id: "its-own", name: "x", provider: "elsewhere", api: "openai-completions", baseUrl: ${JSON.stringify(providers.two.url)}, reasoning: false, input: ["text"], contextWindow: 1000, maxTokens: 100, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
       const options = { apiKey: "sk-of-the-module", maxRetries: 0 };
       const answers = [await complete(model, ask("x"), options), await openAICompletionsApi().streamSimple(model, ask("x"), options).result()];
       return answers.map(({ content, errorMessage }) => content[0]?.text ?? errorMessage);`;
    const asked = providers.two.asked();
    assert.deepEqual(await json(body, { allow: false, net: true }), ["Two", "Two"]);
    const { headers, body: sent } = await asked;
    assert.deepEqual([headers.authorization, sent.model], ["Bearer sk-of-the-module", "its-own"]);
    const before = providers.two.got.length;
    const refused = (await json(body, { allow: false })) as string[];
    for (const reason of refused) assert.match(reason, /onnection error|may not/);
    assert.equal(providers.two.got.length, before);
  });

  test("by Anthropic's protocol with a key of its own goes out from the sandbox", async () => {
    const asked = providers.two.asked();
    const answer = await run(
      `const model = { id: "claude", name: "x", provider: "elsewhere", api: "anthropic-messages", baseUrl: ${JSON.stringify(providers.two.url.replace("/v1", ""))}, reasoning: false, input: ["text"], contextWindow: 1000, maxTokens: 100, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
       return (await streamSimpleAnthropic(model, ask("hello there"), { apiKey: "sk-of-the-module", maxRetries: 0 }).result()).errorMessage ?? "none";`,
      { allow: false, net: true },
    );
    const { headers, body: sent } = await asked;
    assert.equal(headers["x-api-key"], "sk-of-the-module");
    assert.match(JSON.stringify(sent.messages), /hello there/);
    assert.doesNotMatch(answer, /sandbox|not defined|undefined/);
  });

  test("to an API of the module's own stays in the module, without the permission", async () => {
    const text = await run(
      `const own = (model) => {
         const stream = createAssistantMessageEventStream();
         const message = { role: "assistant", content: [{ type: "text", text: "from " + model.id }], stopReason: "stop", timestamp: Date.now() };
         stream.push({ type: "done", reason: "stop", message });
         stream.end();
         return stream;
       };
       registerApiProvider({ api: "my-api", stream: own, streamSimple: own });
       return (await complete({ api: "my-api", provider: "x", id: "me" }, ask("x"))).content[0].text;`,
      { allow: false },
    );
    assert.equal(text, "from me");
  });
});

describe("ctx.modelRegistry", () => {
  test("has the user's models as plain data, without keys, and needs no permission for it", async () => {
    const text = await run(
      `const registry = ctx.modelRegistry;
       const names = (models) => models.map(({ provider, id }) => provider + "/" + id).filter((name) => !name.startsWith("replay"));
       return {
         all: names(registry.getAll()),
         available: names(registry.getAvailable()),
         found: registry.find("two", "model-two"),
         none: registry.find("two", "model-one") === undefined,
         configured: ["one", "keyless", "nobody"].map((provider) => registry.hasConfiguredAuth({ provider })),
         known: getModels("anthropic").length > 3 && registry.hasConfiguredAuth({ provider: "anthropic" }) === false,
         providers: ["one", "anthropic"].every((name) => getProviders().includes(name)),
         session: registry.getAvailable().some(({ provider }) => provider === "replay"),
       };`,
      { allow: false },
    );
    const { found, ...rest } = JSON.parse(text) as Record<string, unknown> & {
      found: Record<string, unknown>;
    };
    assert.deepEqual(rest, {
      all: ["one/model-one", "two/model-two", "keyless/model-one"],
      available: ["one/model-one", "two/model-two"],
      none: true,
      configured: [true, false, false],
      known: true,
      providers: true,
      session: true,
    });
    assert.deepEqual(
      [found.id, found.provider, found.api, found.contextWindow, found.maxTokens],
      ["model-two", "two", "openai-completions", 1000, 100],
    );
    assert.ok(!("headers" in found) && !("apiKey" in found));
  });

  test("gives a handle for a key: no secret, accepted by requests, and only with the permission", async () => {
    const ask = `const model = ctx.modelRegistry.find("one", "model-one");
      const auth = await ctx.modelRegistry.getApiKeyAndHeaders(model);`;
    const [auth, key, none, stopReason] = (await json(
      `${ask} return [auth, await ctx.modelRegistry.getApiKey(model), await ctx.modelRegistry.getApiKeyForProvider("nobody") === undefined, (await complete(model, ask("x"), { apiKey: auth.apiKey, headers: auth.headers })).stopReason];`,
    )) as unknown[];
    assert.deepEqual(auth, { ok: true, apiKey: "xdev-key:one", headers: {} });
    assert.deepEqual([key, none, stopReason], ["xdev-key:one", true, "stop"]);
    const refused = (await json(`${ask} return auth;`, { allow: false })) as { ok: boolean; error: string };
    assert.equal(refused.ok, false);
    assert.match(refused.error, /may not .*model/);
  });

  test("shows older versions' storage of keys without a key in it, and fails as pi-ai does for what is no chat", async () => {
    const [list, key, entry, refused, classified] = (await json(
      `const { authStorage, classify } = ctx.modelRegistry;
       let refused;
       try { authStorage.set("one", { type: "api_key", key: "mine" }); } catch (error) { refused = error.message; }
       return [authStorage.list().includes("one"), await authStorage.getApiKey("one"), authStorage.get("one") ?? null, refused, (await classify({ id: "x" })).stopReason];`,
    )) as unknown[];
    assert.deepEqual([list, key, entry, classified], [true, "xdev-key:one", null, "error"]);
    assert.match(String(refused), /authStorage\.set\(\) is not possible in the sandbox: use xdev login/);
  });

  test("tells nothing that stands in a models.yml with a mistake in it", async () => {
    const odd = { providers: { one: { api: "key-at-an-odd-place", "other-key-there": 1, models: [] } } };
    for (const body of ["return ctx.modelRegistry.getAll();", `return getModel("one", "m");`]) {
      const text = await run(body, { odd, allow: false });
      assert.match(text, /^error: .*`xdev models` tells him what is wrong/);
    }
    const asked = await run(`return complete({ provider: "one", id: "m" }, ask("x"));`, { odd });
    assert.match(asked, /`xdev models` tells him what is wrong/);
    assert.doesNotMatch(asked, /key-at|other-key|models\.yml/);
  });

  test("asks the model itself", async () => {
    const content = await json(
      `return (await ctx.modelRegistry.complete(ctx.modelRegistry.find("two", "model-two"), ask("x"))).content;`,
    );
    assert.deepEqual(content, [{ type: "text", text: "Two" }]);
  });
});

describe("a module that looks for its model while it loads", () => {
  test("finds it", async () => {
    using folder = new Folder();
    const extension = folder.file(
      "early.ts",
      `import { getModel } from "@mariozechner/pi-ai";
       const model = getModel("anthropic", getModel("anthropic", "x")?.id ?? "none");
       export default (pi) => pi.registerCommand("early", { handler: async (args, ctx) => ctx.ui.notify(String(model)) });`,
    );
    const outcome = await xdev(
      ["-p", "/early", "--mode", "json", "-e", extension, "--data-dir", `${folder.path}/data`],
      { cwd: folder.path, env: { HOME: folder.path } },
    );
    assert.equal(outcome.status, 0, outcome.stderr + outcome.stdout);
  });
});
