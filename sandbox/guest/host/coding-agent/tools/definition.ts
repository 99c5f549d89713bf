/** What a tool of the factories has besides its work: texts for the prompt, and how calls and results are drawn. */

import { mkdirSync } from "node:fs";
import { about } from "xdev:system";
import type { BuiltinTool, ToolContext } from "../../../../../src/agent/tools/context.ts";
import { defineTool, type ToolResult, type ToolRun } from "../../../../../src/agent/tools/tool.ts";
import { type Drawn, drawCall, drawResult } from "./draw.ts";

/** A tool as `pi.registerTool` takes it; `execute` may be called without a context. */
export interface FactoryTool extends BuiltinTool {
  promptSnippet: string;
  promptGuidelines: readonly string[];
  renderCall: Drawn;
  renderResult: Drawn;
}

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
export function factoryTool<Params>(
  builtin: BuiltinTool,
  snippet: string,
  run?: (params: Params, run: ToolRun) => Promise<ToolResult>,
): FactoryTool {
  const { name, description, parameters, prepareArguments } = builtin;
  const made = run
    ? defineTool<Params>({
        name,
        description,
        parameters,
        ...(prepareArguments ? { prepare: prepareArguments } : {}),
        run,
      })
    : builtin;
  const { execute } = made;
  return {
    ...made,
    // Models and other tools may call it as they find it: without the schema's look at the arguments.
    execute: (id, params, signal, onUpdate) =>
      execute(id, (prepareArguments?.(params) ?? params) as object, signal, onUpdate),
    promptSnippet: snippet,
    promptGuidelines: [],
    renderCall: drawCall(name),
    renderResult: drawResult,
  };
}
