/** An extension's tools as the agent's: `tool_invoke` round trips (wire-notes.md, "Events a v1 extension can receive"). */
import type { AgentTool, AgentToolResult } from "@earendil-works/pi-agent-core";
import { stripControls } from "../base/text.ts";
import type { Extension } from "./extension.ts";
import { parsePatch, parseToolOutcome, type ResponseFrame, type ToolSpec } from "./frame.ts";
import { checkArgumentSize, toolSchema } from "./tool-schema.ts";

export interface ExtensionTool extends AgentTool<object, unknown> {
  /** Not offered to the model until someone names it. */
  defaultInactive: boolean;
  /** The extension's file. */
  path: string;
  /** What the system prompt says of it while it is active. */
  promptSnippet?: string;
  promptGuidelines?: readonly string[];
}

export function extensionTool(extension: Extension, spec: ToolSpec, name: string): ExtensionTool {
  return {
    // One that is hidden is there for who names it.
    defaultInactive: spec.defaultInactive === true || spec.hidden === true,
    name,
    label: stripControls(spec.label ?? spec.name),
    description: spec.description ?? "",
    path: extension.path,
    ...(spec.executionMode == null ? {} : { executionMode: spec.executionMode }),
    ...(spec.promptSnippet == null ? {} : { promptSnippet: spec.promptSnippet }),
    ...(spec.promptGuidelines == null ? {} : { promptGuidelines: spec.promptGuidelines }),
    parameters:
      spec.prepares === true ? openSchema(toolSchema(spec.parameters)) : toolSchema(spec.parameters),
    prepareArguments: checkArgumentSize as (args: unknown) => object,
    async execute(callId, params, signal, onUpdate) {
      await ready(extension, spec, signal);
      const reply = await extension.request(
        "tool_invoke",
        { tool: spec.name, arguments: params, callId },
        {
          timeoutMs: extension.limits.toolTimeoutMs,
          signal,
          onUpdate: (payload) => {
            const partial = parseToolOutcome(payload);
            if (partial) onUpdate?.({ content: partial.content ?? [], details: partial.details });
          },
        },
      );
      return toolResult(extension, reply);
    },
  };
}

/**
 * Of a tool that makes its arguments fit by itself: what the model is told, as JSON, is its schema; what is checked here is that they
 * are an object.
 */
function openSchema(told: Record<string, unknown>): Record<string, unknown> {
  return Object.defineProperty({ type: "object", properties: {} }, "toJSON", { value: () => told });
}

/** Sees to it that the extension runs and that the tool is still the one that the model was told of. */
async function ready(extension: Extension, spec: ToolSpec, signal: AbortSignal | undefined): Promise<void> {
  if (extension.state !== "ready") return;
  await extension.wake(signal);
  if (!extension.isAwake) return;
  const now = extension.capabilities?.tools.find(({ name }) => name === spec.name);
  if (now === spec) return;
  if (!now) throw new Error(`extension ${extension.name} has no tool ${spec.name} any more`);
  if (JSON.stringify(now.parameters) !== JSON.stringify(spec.parameters)) {
    throw new Error(`extension ${extension.name}: its tool ${spec.name} takes other parameters by now`);
  }
}

function toolResult(extension: Extension, reply: ResponseFrame): AgentToolResult<unknown> {
  if (reply.error != null) throw new Error(`extension ${extension.name}: ${reply.error || "failed"}`);
  if (extension.has("result") && reply.result != null) {
    const outcome = parseToolOutcome(reply.result);
    if (!outcome) throw new Error(`extension ${extension.name} gave something that is no tool result`);
    return {
      content: outcome.content ?? [],
      details: outcome.details,
      isError: outcome.isError === true,
      ...(outcome.terminate === true ? { terminate: true } : {}),
    };
  }
  const patch = parsePatch(reply.patch) ?? {};
  if ("problem" in patch) throw new Error(`extension ${extension.name}: ${patch.problem}`);
  return {
    content: [{ type: "text", text: patch.text ?? "" }],
    details: undefined,
    isError: patch.isError === true,
  };
}
