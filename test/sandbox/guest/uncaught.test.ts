/** Errors that nothing catches: what the engine runs outside of any function of ours. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Folder } from "../../support/folder.ts";

const PROGRAM = fileURLToPath(new URL("../../fixtures/decide-run.ts", import.meta.url));
const isDeno = "Deno" in globalThis;
const LEVELS = isDeno ? (["host"] as const) : (["worker", "host"] as const);
const SECRET = "a line of a file";

/** What an extension does with `uncaught`, which throws its argument, and `secret`, the path of a file. It denies with what it returns. */
async function run(level: string, body: string): Promise<string> {
  using folder = new Folder();
  const secret = folder.file("secret.txt", SECRET);
  const path = folder.file(
    "guest.ts",
    `const secret = ${JSON.stringify(secret)};
     const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
     const uncaught = async (error) => {
       const promise = Promise.resolve();
       const species = function (run) { run(() => { throw error; }, () => { throw error; }); };
       Object.defineProperty(promise, "constructor", { value: { [Symbol.species]: species } });
       promise.then(() => {});
       await wait(100);
     };
     export default (pi) => { pi.on("tool_call", async () => ({ block: true, reason: await (async () => {\n${body}\n})() })); };`,
  );
  const args = isDeno ? ["run", "--allow-all", "--no-check", "--quiet", PROGRAM] : [PROGRAM];
  const program = spawn(process.execPath, [...args, level, path], { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  await new Promise((resolve) => program.once("close", resolve));
  return text;
}

const QUOTING =
  'Object.defineProperty(new Error("quoting"), "stack", { value: `Error: quoting\\n    at f (${secret}:1:1)` })';

describe("an error that nothing catches", () => {
  for (const level of LEVELS) {
    test(`is a line of the log, and quotes no file that its stack names (${level})`, async () => {
      const told = await run(level, `await uncaught(${QUOTING}); return "goes on";`);
      // V8 tells nobody of this one.
      assert.match(told, isDeno ? /"state":"ready"/ : /"state":"ready".*"lastLog":\["Error: quoting"\]/);
      assert.match(told, /goes on/);
      assert.ok(!told.includes(SECRET), told);
    });

    test(`is the same when a finalizer throws it (${level})`, async () => {
      const told = await run(
        level,
        `let ran = false;
         const registry = new FinalizationRegistry(() => { if (ran) return; ran = true; throw ${QUOTING}; });
         (() => { for (let i = 0; i < 1000; i++) registry.register({ i }, 1); })();
         for (let i = 0; i < 400 && !ran; i++) {
           const waste = [];
           for (let k = 0; k < 50_000; k++) waste.push({ k });
           await wait(5);
         }
         await wait(100);
         return ran ? "goes on" : "was not collected";`,
      );
      assert.match(told, /goes on/);
      assert.match(told, /"state":"ready".*"lastLog":\["Error: quoting"\]/);
      assert.ok(!told.includes(SECRET), told);
    });

    test(`has no method called with anything of the runtime's (${level})`, async () => {
      const told = await run(
        level,
        `const got = [];
         const inspect = (...args) => { got.push(...args.map((one) => typeof one)); return "shown"; };
         const names = ["nodejs.util.inspect.custom", "Deno.customInspect", "Deno.privateCustomInspect"];
         const methods = Object.fromEntries(names.map((name) => [Symbol.for(name), inspect]));
         await uncaught(methods);
         await uncaught(Object.assign(new Error("a"), methods));
         return "got " + JSON.stringify(got);`,
      );
      assert.match(told, /got \[\]/);
    });
  }
});
