/**
 * Node's modules in the sandbox, next to Node's own: each expression of node-cases.ts is evaluated by an extension in a real
 * worker, and by the `node` of this machine, and what both give is compared.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";
import { NODE_CASES } from "./node-cases.ts";

/** JSON text of what each case gives or throws. Runs on both sides. */
const RUN_ALL = `
const show = (value, above = []) => {
  if (value === undefined) return "(undefined)";
  if (typeof value === "bigint") return value + "n";
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : Number.isFinite(value) ? value : String(value);
  if (typeof value === "function") return "(function)";
  if (typeof value !== "object" || value === null) return typeof value === "symbol" ? String(value) : value;
  if (above.includes(value)) return "(cycle)";
  const path = [...above, value];
  if (value instanceof Error) return { error: value.name, code: value.code, message: value.message };
  if (ArrayBuffer.isView(value)) return ["(bytes)", ...value];
  if (Array.isArray(value)) return value.map((one) => show(one, path));
  return Object.fromEntries(Object.keys(value).map((key) => [key, show(value[key], path)]));
};
const runAll = async (cases, require, evaluate) => {
  const results = [];
  for (const source of cases) {
    try {
      results.push(JSON.stringify(show(await evaluate("(function (require) { return (" + source + "); })")(require))));
    } catch (error) {
      results.push("throws " + JSON.stringify(show(error)));
    }
  }
  return results;
};
`;

const GUEST = `import { createRequire } from "node:module";
const require = createRequire("/extension.js");
${RUN_ALL}
export default (pi) => pi.registerTool({
  name: "compare",
  parameters: { type: "object", properties: { cases: { type: "array" } } },
  async execute(id, { cases }) {
    const results = await runAll(cases, require, (source) => (0, eval)(source));
    return { content: [{ type: "text", text: "" }], details: { results } };
  },
});`;

const HOST = `${RUN_ALL}
let input = "";
process.stdin.on("data", (chunk) => { input += chunk; });
process.stdin.on("end", async () => {
  const results = await runAll(JSON.parse(input), require, (source) => new Function("return " + source)());
  process.stdout.write(JSON.stringify(results));
});`;

function inNode(cases: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync("node", ["--no-warnings", "-e", HOST], {
    input: JSON.stringify(cases),
    encoding: "utf8",
  });
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout) as string[];
}

describe("Node's modules in the sandbox", () => {
  let loaded: Loaded;
  let folder: Folder;
  before(async () => {
    folder = new Folder();
    loaded = await loadExtensions([folder.file("guest.ts", GUEST)]);
    assert.deepEqual(loaded.manager.failures(), []);
  });
  after(async () => {
    await loaded.manager.stop();
    folder[Symbol.dispose]();
  });

  const inSandbox = async (cases: readonly string[]): Promise<string[]> => {
    const [tool] = loaded.manager.tools(["bash", "read"]);
    const { details } = (await tool!.execute("c", { cases })) as { details: { results: string[] } };
    return details.results;
  };

  test("every module that builtinModules names is there", async () => {
    const [results] = await inSandbox([
      `require("module").builtinModules.filter((name) => {
        try { return typeof require("node:" + name) !== "object" && typeof require(name) !== "function"; }
        catch (error) { return true; }
      })`,
    ]);
    assert.equal(results, "[]");
  });

  test("new Buffers are zero, and share their memory with nothing", async () => {
    const [results] = await inSandbox([
      `Array.from({ length: 50 }, (_, i) => Buffer.allocUnsafe(i * 100 + 1)).concat(Buffer.from("text"), Buffer.from([1, 2]), Buffer.alloc(3))
        .every((one) => one.buffer.byteLength === one.length && (one.length < 5 || one.every((byte) => byte === 0)))`,
    ]);
    assert.equal(results, "true");
  });

  for (const [module, cases] of Object.entries(NODE_CASES)) {
    test(`${module}: ${cases.length} expressions give what they give in Node`, async () => {
      const results = await inSandbox(cases);
      const expected = inNode(cases);
      const differences = cases
        .map((source, i) => ({ source, node: expected[i], sandbox: results[i] }))
        .filter(({ node, sandbox }) => node !== sandbox);
      assert.deepEqual(differences, []);
    });
  }
});
