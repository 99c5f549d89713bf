/**
 * pi-ai and pi-agent-core in a guest: every export of the packages, and helpers that do what the packages' do. What asks a model is
 * in test/e2e/model-requests.test.ts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as core from "@earendil-works/pi-agent-core";
import * as ai from "@earendil-works/pi-ai";
import * as compat from "@earendil-works/pi-ai/compat";
import { EVALUATE } from "../../support/evaluate.ts";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

/** Of versions that published extensions were written for, and of omp. */
const OLDER =
  "Type StringEnum supportsXhigh getModel getModels getProviders clearApiProviders setBedrockProviderModule getBundledModel " +
  "getOAuthProvider getOAuthProviders getOAuthApiKey loginAnthropic loginOpenAICodex refreshOpenAICodexToken refreshOAuthToken " +
  "registerOAuthProvider";

const MODEL = `({ id: "m", name: "M", provider: "p", api: "a", baseUrl: "", reasoning: true, input: ["text"], contextWindow: 1000, maxTokens: 100, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } })`;
const TOOL = `({ name: "t", description: "", parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } })`;

const CASES = [
  "m.StringEnum(['a', 'b'], { description: 'd', default: 'a' })",
  `m.validateToolArguments(${TOOL}, { type: "toolCall", id: "1", name: "t", arguments: { n: "5" } })`,
  `(() => { try { m.validateToolCall([${TOOL}], { type: "toolCall", id: "1", name: "t", arguments: {} }); } catch (error) { return error.message; } })()`,
  `m.calculateCost(${MODEL}, { input: 1000, output: 500, cacheRead: 0, cacheWrite: 0, totalTokens: 1500, cost: {} })`,
  `m.isContextOverflow({ role: "assistant", content: [], stopReason: "error", errorMessage: "prompt is too long: 5 tokens > 4 maximum", usage: {} }, 1000)`,
  `m.getSupportedThinkingLevels(${MODEL})`,
  `m.modelsAreEqual(${MODEL}, ${MODEL})`,
  'm.parseStreamingJson(\'{"a": [1, 2, {"b": "c\')',
  "m.uuidv7().length",
  "m.normalizeContext({ systemPrompt: 's', messages: [{ role: 'user', content: 'x', timestamp: 1 }] }).messages.map(({ role }) => role)",
  "m.fauxAssistantMessage('hi').content",
  "new m.EventStream(() => false, () => 1) instanceof m.EventStream && m.createAssistantMessageEventStream() instanceof m.AssistantMessageEventStream",
  "m.contentText([{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }])",
];

describe("pi-ai and pi-agent-core in a guest", () => {
  let folder: Folder;
  let loaded: Loaded;
  let inside: {
    results: string[];
    names: string[];
    core: string[];
    agent: unknown;
    faux: unknown;
    refused: string;
    protocols: Record<string, unknown[]>;
  };

  // From source the texts are built first.
  before(
    async () => {
      folder = new Folder();
      const file = folder.file(
        "extension.js",
        `import * as m from "@mariozechner/pi-ai";
        import * as core from "@oh-my-pi/pi-agent-core";
        ${EVALUATE}
        const faux = async () => {
          const provider = m.registerFauxProvider();
          provider.setResponses([m.fauxAssistantMessage("one"), m.fauxAssistantMessage("two")]);
          const context = { messages: [{ role: "user", content: "x", timestamp: 1 }] };
          const first = await m.complete(provider.getModel(), context);
          const types = [];
          for await (const event of m.stream(provider.getModel(), context)) types.push(event.type);
          provider.unregister();
          return [first.content[0].text, types.at(-1)];
        };
        const agent = async () => {
          const provider = m.registerFauxProvider();
          provider.setResponses([m.fauxAssistantMessage("from the agent")]);
          const one = new core.Agent({ initialState: { systemPrompt: "s", model: provider.getModel(), tools: [], messages: [] } });
          await one.prompt("hi");
          return one.state.messages.map(({ role }) => role).join();
        };
        const sse = (events) => events.map((event) => (event.type ? "event: " + event.type + "\\n" : "") + "data: " + JSON.stringify(event) + "\\n\\n").join("");
        const chunk = (delta, finish_reason = null) => ({ id: "r", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
        const chat = sse([chunk({ content: "he" }), chunk({ content: "llo" }), chunk({}, "stop")]) + "data: [DONE]\\n\\n";
        const bodies = {
          "openai-completions": chat,
          "mistral-conversations": chat,
          "anthropic-messages": sse([
            { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], model: "m", usage: { input_tokens: 1, output_tokens: 1 } } },
            { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
            { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } },
            { type: "content_block_stop", index: 0 },
            { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
            { type: "message_stop" },
          ]),
        };
        const functions = { "openai-completions": m.streamSimpleOpenAICompletions, "mistral-conversations": m.streamSimpleMistral, "anthropic-messages": m.streamSimpleAnthropic };
        const protocols = async () => {
          const answers = {};
          for (const [api, body] of Object.entries(bodies)) {
            const model = { ...${MODEL}, api, baseUrl: "https://api.example/v1" };
            let sent;
            const fetch = async (input, init) => {
              sent = [new URL(String(input.url ?? input)).host, JSON.stringify([...new Headers(init?.headers ?? input.headers)]).includes("my-own-key")];
              return new Response(body, { headers: { "content-type": "text/event-stream" } });
            };
            const { content, errorMessage } = await functions[api](model, { systemPrompt: "s", messages: [{ role: "user", content: "x", timestamp: 1 }] }, { apiKey: "my-own-key", fetch }).result();
            answers[api] = [errorMessage ?? content[0].text, ...(sent ?? [])];
          }
          return answers;
        };
        export default (pi) => pi.registerTool({
          name: "compare",
          parameters: { type: "object", properties: { cases: { type: "array" } } },
          async execute(id, { cases }) {
            const details = {
              results: cases.map((source) => evaluate(source, m)),
              names: Object.keys(m),
              core: Object.keys(core),
              faux: await faux(),
              agent: await agent(),
              protocols: await protocols(),
              refused: await m.loginAnthropic().catch((error) => error.message),
            };
            return { content: [], details };
          },
        });`,
      );
      loaded = await loadExtensions([file]);
      assert.deepEqual(
        loaded.manager.failures().map(({ reason }) => reason),
        [],
      );
      const result = await loaded.manager.tools([])[0]!.execute("c", { cases: CASES });
      assert.ok(result.details, JSON.stringify(result.content));
      inside = result.details as typeof inside;
    },
    { timeout: 60_000 },
  );
  after(async () => {
    await loaded.manager.stop();
    folder[Symbol.dispose]();
  });

  test("every export of the packages is there, and those of older versions", () => {
    const wanted = [...Object.keys(ai), ...Object.keys(compat), ...OLDER.split(" ")];
    const missing = (names: readonly string[], has: readonly string[]) =>
      names.filter((name) => !has.includes(name));
    assert.deepEqual(missing(wanted, inside.names), []);
    assert.deepEqual(missing(Object.keys(core), inside.core), []);
  });

  const evaluate = new Function(`${EVALUATE} return evaluate;`)() as (source: string, m: unknown) => string;
  for (const [at, source] of CASES.entries()) {
    test(source.slice(0, 80), () => {
      const outside = evaluate(source, compat);
      assert.doesNotMatch(outside, /^throws/);
      assert.equal(inside.results[at], outside);
    });
  }

  test("a scripted provider of the extension answers it", () => {
    assert.deepEqual(inside.faux, ["one", "done"]);
  });

  test("an agent of the extension's own runs over it", () => {
    assert.match(String(inside.agent), /user,assistant$/);
  });

  test("the protocols speak from inside with a key of the extension's own", () => {
    const spoken = ["hello", "api.example", true];
    assert.deepEqual(inside.protocols, {
      "openai-completions": spoken,
      "mistral-conversations": spoken,
      "anthropic-messages": spoken,
    });
  });

  test("a login is refused with what to do", () => {
    assert.match(inside.refused, /loginAnthropic\(\) is not possible in the sandbox: xdev keeps the keys/);
  });
});
