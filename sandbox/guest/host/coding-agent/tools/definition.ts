/** What the tools of the factories work with. */

import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
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
      removeOld(folder);
      return folder;
    },
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** An extension can't know when its session's last reader is gone; what is a day old nobody reads any more. */
function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path, { force: true });
  }
}

/** The built-in tool, or one of its name and parameters that works otherwise. */
export function builtinOr<Params>(
  builtin: BuiltinTool,
  run: ((params: Params, run: ToolRun) => Promise<ToolResult>) | undefined,
): BuiltinTool {
  const { name, description, parameters } = builtin;
  return run ? defineTool<Params>({ name, description, parameters, run }) : builtin;
}
