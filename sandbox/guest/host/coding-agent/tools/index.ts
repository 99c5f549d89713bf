/**
 * The tool factories of the agent's package: a text of its own (`internal/agent-tools`), since few extensions make such tools. Those
 * that do make them while they load: what the tools do is in another text, for when one is called.
 */
import { about, own } from "xdev:system";
import type { BuiltinTool } from "../../../../../src/agent/tools/context.ts";
import { BASH, EDIT, FIND, GREP, LS, READ, WRITE } from "../../../../../src/agent/tools/specs.ts";
import { type Drawn, drawCall, drawResult } from "./draw.ts";

export { generateDiffString, generateUnifiedPatch } from "../diff.ts";

/** A tool as `pi.registerTool` takes it, and as one that is called without a context. */
export interface FactoryTool extends BuiltinTool {
  promptSnippet: string;
  promptGuidelines: readonly string[];
  renderCall: Drawn;
  renderResult: Drawn;
}

interface Spec {
  name: string;
  description: string;
  parameters: object;
  prepare?: (args: unknown) => unknown;
}
type Factory = (cwd: string, options?: object) => FactoryTool;

/** `maker` is the factory of the text that does the work, by its name. */
function factory(
  { name, description, parameters, prepare }: Spec,
  maker: string,
  promptSnippet: string,
): Factory {
  return (cwd, options) => {
    let tool: BuiltinTool | undefined;
    const load = (): BuiltinTool => {
      const make = own("internal/agent-tools-run")[maker] as (cwd: string, options?: object) => BuiltinTool;
      tool ??= make(cwd, options);
      return tool;
    };
    return {
      ...{ name, label: name, description, parameters, promptSnippet, promptGuidelines: [] },
      ...(prepare ? { prepareArguments: (args: unknown) => prepare(args) as object } : {}),
      // Models and other tools may call it as they find it: without the schema's look at the arguments.
      execute: async (id, params, signal, onUpdate) =>
        await load().execute(id, (prepare?.(params) ?? params) as object, signal, onUpdate),
      renderCall: drawCall(name),
      renderResult: drawResult,
    };
  };
}

export const createReadTool = factory(READ, "createReadTool", "Read file contents");
export const createBashTool = factory(BASH, "createBashTool", "Execute bash commands");
export const createEditTool = factory(
  EDIT,
  "createEditTool",
  "Make precise file edits with exact text replacement",
);
export const createWriteTool = factory(WRITE, "createWriteTool", "Create or overwrite files");
export const createGrepTool = factory(
  GREP,
  "createGrepTool",
  "Search file contents for patterns (respects .gitignore)",
);
export const createFindTool = factory(
  FIND,
  "createFindTool",
  "Find files by glob pattern (respects .gitignore)",
);
export const createLsTool = factory(LS, "createLsTool", "List directory contents");

// A definition has what a tool has, and more: here they are one.
export const createReadToolDefinition = createReadTool;
export const createBashToolDefinition = createBashTool;
export const createEditToolDefinition = createEditTool;
export const createWriteToolDefinition = createWriteTool;
export const createGrepToolDefinition = createGrepTool;
export const createFindToolDefinition = createFindTool;
export const createLsToolDefinition = createLsTool;

type Options = Partial<Record<string, object>>;

/** `read`, `bash`, `edit`, `write`. `options` has those of each by its name. */
export function createCodingTools(cwd: string, options: Options = {}): FactoryTool[] {
  const { read, bash, edit, write } = options;
  return [
    createReadTool(cwd, read),
    createBashTool(cwd, bash),
    createEditTool(cwd, edit),
    createWriteTool(cwd, write),
  ];
}

/** `read`, `grep`, `find`, `ls`: those that change nothing. */
export function createReadOnlyTools(cwd: string, options: Options = {}): FactoryTool[] {
  const { read, grep, find, ls } = options;
  return [
    createReadTool(cwd, read),
    createGrepTool(cwd, grep),
    createFindTool(cwd, find),
    createLsTool(cwd, ls),
  ];
}

// Tools of the session's folder, as older versions of the package have them.
export const readTool = createReadTool(about.cwd);
export const bashTool = createBashTool(about.cwd);
export const editTool = createEditTool(about.cwd);
export const writeTool = createWriteTool(about.cwd);
export const grepTool = createGrepTool(about.cwd);
export const findTool = createFindTool(about.cwd);
export const lsTool = createLsTool(about.cwd);
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];
