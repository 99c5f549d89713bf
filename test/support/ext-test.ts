/** A scene for tests of `xdev ext test`: an extension, and places of the user's that must stay as they are. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { Folder } from "./folder.ts";
import { type Outcome, xdev } from "./xdev.ts";

export const EXTENSION = `
import { existsSync, readFileSync } from "node:fs";
export default (pi) => {
  pi.on("session_start", (event, ctx) => ctx.ui.notify("it has begun", "info"));
  pi.on("before_agent_start", (event) => ({ systemPrompt: event.systemPrompt + " Talk like a pirate." }));
  pi.on("tool_call", (event) => {
    if (event.toolName === "bash" && event.input.command.includes("rm -rf")) return { block: true, reason: "not here" };
  });
  pi.registerTool({
    name: "greet", label: "Greet", description: "greets", parameters: { type: "object", properties: { name: { type: "string" } } },
    async execute(id, { name }) { return { content: [{ type: "text", text: "Hello, " + name }], details: { greeted: name } }; },
  });
  pi.registerTool({
    name: "secret", label: "Secret", description: "reads", parameters: { type: "object", properties: { path: { type: "string" } } },
    async execute(id, { path }) { return readFileSync(path, "utf8"); },
  });
  pi.registerTool({
    name: "hang", label: "Hang", description: "hangs", parameters: { type: "object", properties: {} },
    execute: () => new Promise(() => {}),
  });
  pi.registerCommand("ask", {
    description: "asks",
    async handler(args, ctx) {
      const sure = await ctx.ui.confirm("Sure?", "It can't be undone");
      const color = await ctx.ui.select("Which?", ["red", "blue"]);
      const name = await ctx.ui.input("Name?");
      pi.appendEntry("asked", { sure, color, name });
      return [sure, color, name].join(" ");
    },
  });
};`;

export function scene() {
  const folder = new Folder();
  const extension = folder.file("ext/greeter.ts", EXTENSION);
  for (const name of ["home", "data", "tmp", "work"]) mkdirSync(`${folder.path}/${name}`);
  const options = {
    cwd: `${folder.path}/work`,
    env: {
      HOME: `${folder.path}/home`,
      XDEV_DATA_DIR: `${folder.path}/data`,
      TMPDIR: `${folder.path}/tmp`,
    },
  };
  return {
    folder,
    extension,
    options,
    run: (script: string | undefined, ...more: string[]) => {
      const words = script === undefined ? [] : ["--script", folder.file("script.yml", script)];
      return xdev(["ext", "test", extension, ...words, ...more], options);
    },
    /** What is left in the user's places. */
    left: () => ["home", "data", "tmp", "work"].flatMap((name) => readdirSync(`${folder.path}/${name}`)),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

export interface Report {
  passed: boolean;
  extension: { state: string; error?: string; tools: string[] };
  permissions: { source: string; asked: string[]; used: string[]; denied: string[] };
  diagnostics: string[];
  steps: { line: number; title: string; failures: { line: number; message: string }[] }[];
  notPlayed: number;
  log: string[];
}

export function reportOf({ stdout, stderr }: Outcome): Report {
  assert.ok(stdout.startsWith("{"), stdout + stderr);
  return JSON.parse(stdout);
}

/** `line: message` of every failure. */
export function failuresOf(report: Report): string[] {
  return report.steps.flatMap(({ failures }) => failures.map(({ line, message }) => `${line}: ${message}`));
}
