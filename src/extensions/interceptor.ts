/**
 * One extension as an interceptor: what its answers, and its silence, mean for a tool call. This is the failure policy
 * of extension-protocol.md §5 and wire-notes.md, "Replies" and "Death", and the only place that knows it.
 */
import { measure } from "../base/data-size.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import type { Interceptor, ToolCall, ToolResult, Verdict } from "./chain.ts";
import type { Extension } from "./extension.ts";
import { type Content, parsePatch, parseRevise, parseToolOutcome, type ResponseFrame } from "./frame.ts";

/** Whether an extension may change a call of that tool: rejects with the reason if not. */
export type MayChange = (extension: Extension, tool: string) => Promise<void>;

/** Whether a tool is that extension's. */
export type Owns = (extension: Extension, tool: string) => boolean;

export function extensionInterceptor(extension: Extension, mayChange: MayChange, owns: Owns): Interceptor {
  return {
    name: `extension ${extension.name}`,
    async toolCall(call, signal) {
      // It is about to start for this call: if it is a policy by now, this is the first call that it is asked about.
      if (extension.state === "ready" && !extension.isAwake && owns(extension, call.tool)) {
        await extension.wake(signal);
      }
      return decide(extension, mayChange, call, signal);
    },
    toolResult: (call, result, signal) => patch(extension, call, result, signal),
  };
}

async function decide(
  extension: Extension,
  mayChange: MayChange,
  call: ToolCall,
  signal?: AbortSignal,
): Promise<Verdict> {
  if (extension.owesDenial) {
    extension.owesDenial = false;
    return deny(extension, `it ${extension.reason ?? "is not running"}`);
  }
  if (extension.state === "ready" ? !extension.listensTo("tool_call") : isGone(extension))
    return { allow: true };
  let reply: ResponseFrame;
  try {
    reply = await extension.request(
      "tool_call",
      { tool: call.tool, arguments: call.arguments, callId: call.callId },
      { timeoutMs: extension.limits.eventTimeoutMs, signal },
    );
  } catch (error) {
    const isAbort = error instanceof XdevError && error.code === "aborted";
    if (extension.failOpen && !isAbort) return { allow: true };
    // It died while it started for this call: that is the one.
    if (!isAbort) extension.owesDenial = false;
    return deny(extension, failureReason(extension, error));
  }
  if (reply.error != null) {
    if (extension.failOpen || reply.failOpen === true) return { allow: true };
    return deny(extension, reply.error || "failed");
  }
  if (reply.allow !== true) return deny(extension, reply.reason || "denied");
  const revise = parseRevise(reply.revise);
  if (!revise) return { allow: true };
  if ("problem" in revise) return deny(extension, revise.problem);
  try {
    // Whoever writes the command of another's tool has its rights.
    await mayChange(extension, call.tool);
  } catch (error) {
    return deny(extension, `it wants to change the call, ${errorText(error)}`);
  }
  return { allow: true, revise: revise.arguments };
}

/** Whether an extension that is not ready has no say any more (wire-notes.md, "Death"). */
function isGone(extension: Extension): boolean {
  if (!extension.isPolicy || extension.failOpen) return true;
  if (extension.isMissed) return false;
  const isOver = extension.state === "dead" || extension.state === "failed";
  return isOver && extension.limits.onDeath === "prune";
}

/** Stands in for an extension that the user requires and that is not there: nothing runs without it. */
export function missingInterceptor(name: string): Interceptor {
  const reason = `blocked by extension ${name}: it is required (config.yml) and is not there`;
  return { name: `extension ${name}`, toolCall: async () => ({ allow: false, reason }) };
}

function deny(extension: Extension, reason: string): Verdict {
  extension.statistics.denials++;
  return {
    allow: false,
    reason: `blocked by extension ${extension.name}: ${ellipsis(stripControls(reason), 2000)}`,
  };
}

/** The reason of a failure without the extension's name, which the denial's text begins with. */
function failureReason(extension: Extension, error: unknown): string {
  const text = errorText(error);
  const prefix = `extension ${extension.name} `;
  return text.startsWith(prefix) ? `it ${text.slice(prefix.length)}` : text;
}

async function patch(
  extension: Extension,
  call: ToolCall,
  result: ToolResult,
  signal?: AbortSignal,
): Promise<Partial<ToolResult> | undefined> {
  if (extension.state !== "ready" || !extension.listensTo("tool_result")) return undefined;
  const reply = await extension.request(
    "tool_result",
    {
      tool: call.tool,
      arguments: call.arguments,
      callId: call.callId,
      result: { text: contentText(result.content), isError: result.isError },
      ...(extension.has("result") ? { content: result.content, details: plain(result.details) } : {}),
    },
    { timeoutMs: extension.limits.eventTimeoutMs, signal },
  );
  if (reply.error != null) throw new Error(reply.error || "failed");
  if (extension.has("result") && reply.result !== undefined && reply.result !== null) {
    const outcome = parseToolOutcome(reply.result);
    if (!outcome) throw new Error("its result is not a tool result");
    return {
      ...(outcome.content == null ? {} : { content: outcome.content }),
      ...(outcome.details === undefined ? {} : { details: outcome.details }),
      ...(outcome.isError == null ? {} : { isError: outcome.isError }),
    };
  }
  const change = parsePatch(reply.patch);
  if (!change) return undefined;
  if ("problem" in change) throw new Error(change.problem);
  return {
    ...(change.text === undefined ? {} : { content: withText(result.content, change.text) }),
    ...(change.isError === undefined ? {} : { isError: change.isError }),
  };
}

/** The text of a result as a v1 extension sees it. */
export function contentText(content: Content): string {
  return content.flatMap((item) => (item.type === "text" ? [item.text] : [])).join("\n");
}

/** New text in the place of the old; images stay. */
function withText(content: Content, text: string): Content {
  return [{ type: "text", text }, ...content.filter((item) => item.type !== "text")];
}

/** A deep copy with nothing in it that can't be sent as a frame. */
export function plain(value: unknown): unknown {
  try {
    const copy = value === undefined ? undefined : JSON.parse(JSON.stringify(value));
    // What is too much for an extension's parser is left out, so that it cannot be ended with it.
    return measure(copy) === undefined ? copy : undefined;
  } catch {
    return undefined;
  }
}
