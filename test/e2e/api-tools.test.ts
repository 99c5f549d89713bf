/** Tools of modules as the family has them, in a run of the compiled program. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { toolResults, xdev } from "../support/xdev.ts";

const TOOLS = `
import { Type } from "typebox";
export default (pi) => {
  const told = [];
  const parameters = Type.Object({ count: Type.Number() });
  pi.registerTool({
    name: "strict", label: "", description: "d", parameters,
    promptSnippet: "counts things", promptGuidelines: ["Count with strict.", "Count with strict."],
    execute: async (id, params) => "got " + JSON.stringify(params),
    onSession: (event, ctx) => { told.push(event.reason + " " + typeof ctx.cwd); },
  });
  pi.registerTool({
    name: "prepared", label: "", description: "d", parameters,
    prepareArguments: (args) => ({ count: Number(args.n) }),
    execute: async (id, params) => "got " + JSON.stringify(params),
  });
  pi.registerTool({ name: "throws", label: "", description: "d", parameters: Type.Object({}), async execute() { throw new TypeError("on purpose"); } });
  pi.registerTool({ name: "ends", label: "", description: "d", parameters: Type.Object({}), async execute() { return { content: [{ type: "text", text: "the end" }], terminate: true }; } });
  pi.registerTool({ name: "off", label: "", description: "d", defaultInactive: true, promptSnippet: "is off", parameters: Type.Object({}), async execute() {} });
  pi.registerTool({ name: "out_of_sight", label: "", description: "d", hidden: true, parameters: Type.Object({}), async execute() {} });
  pi.registerTool({
    name: "look", label: "", description: "d", parameters: Type.Object({}),
    async execute(id, params, signal, onUpdate, ctx) {
      const nested = await ctx.executeTool("bash", { command: "ls" });
      return JSON.stringify({ told, prompt: ctx.getSystemPrompt(), active: pi.getActiveTools(), tools: ctx.tools, nested: nested.isError,
        schema: pi.getAllTools().find(({ name }) => name === "prepared").parameters.properties });
    },
  });
  pi.on("before_agent_start", (event) => { event.systemPromptOptions.sections.house_rules = "Be kind to " + event.systemPromptOptions.selectedTools.includes("bash"); });
};`;

async function run(steps: unknown[], folder: Folder) {
  folder.file("data/extensions/t.ts", TOOLS);
  const env = { XDEV_DATA_DIR: `${folder.path}/data` };
  await xdev(["ext", "grant", "t", "--session=write"], { env });
  const replay = folder.file("replay.json", JSON.stringify(steps));
  const outcome = await xdev(["-p", "go", "--mode", "json", "--model", `replay:${replay}`], { env });
  return { outcome, results: toolResults(outcome).map((result) => String(result[2])) };
}
const call = (name: string, args: object = {}) => ({ name, arguments: args });

describe("a tool of a module", () => {
  test("gets arguments that fit its schema, by itself if it prepares them; what it throws is an error result", async () => {
    using folder = new Folder();
    const { results, outcome } = await run(
      [
        {
          toolCalls: [
            call("strict", { count: "many" }),
            call("strict", { count: 3 }),
            call("prepared", { n: "4" }),
            call("prepared", { n: "x" }),
            call("throws"),
          ],
        },
        { text: "done" },
      ],
      folder,
    );
    assert.equal(results.length, 5, outcome.stdout + outcome.stderr);
    assert.match(results[0]!, /^Validation failed .*\n.*count: expected number/);
    assert.equal(results[1], 'got {"count":3}');
    assert.equal(results[2], 'got {"count":4}');
    assert.match(results[3]!, /the arguments do not fit: .*count/);
    assert.match(results[4]!, /TypeError: on purpose/);
  });

  test("is in the system prompt with what it says of itself, while it is active, and hears of the session", async () => {
    using folder = new Folder();
    const { results, outcome } = await run([{ toolCalls: [call("look")] }, { text: "done" }], folder);
    assert.equal(results.length, 1, outcome.stdout + outcome.stderr);
    const { told, prompt, active, tools, nested, schema } = JSON.parse(results[0]!);
    assert.deepEqual(told, ["start string"]);
    assert.match(prompt, /On the tools of extensions:\n- strict: counts things\n- Count with strict\.$/);
    assert.match(prompt, /<house_rules>\nBe kind to true\n<\/house_rules>/);
    assert.doesNotMatch(prompt, /is off/);
    assert.ok(active.includes("strict") && !active.includes("off") && !active.includes("out_of_sight"));
    assert.deepEqual(tools, []);
    assert.equal(nested, true);
    assert.equal(schema.count.type, "number");
  });

  test("ends the run with terminate", async () => {
    using folder = new Folder();
    const { results, outcome } = await run(
      [{ toolCalls: [call("ends")] }, { text: "not asked for" }],
      folder,
    );
    assert.deepEqual(results, ["the end"], outcome.stderr);
    assert.doesNotMatch(outcome.stdout, /not asked for"/);
  });
});
