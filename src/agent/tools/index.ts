import { XdevError } from "../../base/errors.ts";
import { bashTool } from "./bash.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { editTool } from "./edit.ts";
import { findTool } from "./find.ts";
import { grepTool } from "./grep.ts";
import { lsTool } from "./ls.ts";
import { readTool } from "./read.ts";
import { writeTool } from "./write.ts";

const FACTORIES = {
  read: readTool,
  write: writeTool,
  edit: editTool,
  bash: bashTool,
  grep: grepTool,
  find: findTool,
  ls: lsTool,
} satisfies Record<string, (context: ToolContext) => BuiltinTool>;

export type BuiltinToolName = keyof typeof FACTORIES;

/** The built-in tools, in the order in which the model sees them. */
export const BUILTIN_TOOL_NAMES = Object.keys(FACTORIES) as readonly BuiltinToolName[];

/**
 * The built-in tools for one session, all of them or those named, always in the same order (a provider's prompt cache
 * depends on it). Throws `XdevError` with code `unknown-tool` for a name that is none of them.
 */
export function createBuiltinTools(context: ToolContext, names?: readonly string[]): BuiltinTool[] {
  for (const name of names ?? []) {
    if (!Object.hasOwn(FACTORIES, name)) {
      throw new XdevError("unknown-tool", `there is no built-in tool named ${name}`, {
        hint: `The built-in tools are ${BUILTIN_TOOL_NAMES.join(", ")}.`,
      });
    }
  }
  return BUILTIN_TOOL_NAMES.filter((name) => names?.includes(name) ?? true).map((name) =>
    FACTORIES[name](context),
  );
}
