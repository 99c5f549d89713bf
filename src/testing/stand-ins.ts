/** The agent's tools in a test: what their results are is said by the script, and nothing is run, read or written. */
import type { AgentTool } from "@earendil-works/pi-agent-core";
import type { TestScript } from "./script.ts";

/** Those that reach nothing but the session. */
const HARMLESS: ReadonlySet<string> = new Set(["todo"]);

export function standIns(
  tools: readonly AgentTool<object, unknown>[],
  results: TestScript["tools"] = {},
): AgentTool<object, unknown>[] {
  if (results === "real") return [...tools];
  return tools.map((tool) => {
    if (HARMLESS.has(tool.name)) return tool;
    const given = results[tool.name] ?? `(${tool.name} is not run in a test)`;
    const { text, isError } = typeof given === "string" ? { text: given, isError: false } : given;
    return {
      ...tool,
      async execute() {
        if (isError) throw new Error(text);
        return { content: [{ type: "text", text }], details: undefined };
      },
    };
  });
}
