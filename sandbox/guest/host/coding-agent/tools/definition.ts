/** What the tools of the factories work with. */

import { mkdirSync } from "node:fs";
import { about } from "xdev:system";
import type { BuiltinTool, ToolContext } from "../../../../../src/agent/tools/context.ts";
import { defineTool, type ToolResult, type ToolRun } from "../../../../../src/agent/tools/tool.ts";

/** The same folder for all: what a result has no room for is kept in the extension's storage. */
export function contextOf(cwd: string): ToolContext {
  return {
    cwd,
    isConfined: true,
    env: {},
    async scratch() {
      const folder = `${about.data}/output`;
      mkdirSync(folder, { recursive: true });
      return folder;
    },
  };
}

/** The built-in tool, or one of its name and parameters that works otherwise. */
export function builtinOr<Params>(
  builtin: BuiltinTool,
  run: ((params: Params, run: ToolRun) => Promise<ToolResult>) | undefined,
): BuiltinTool {
  const { name, description, parameters } = builtin;
  return run ? defineTool<Params>({ name, description, parameters, run }) : builtin;
}
