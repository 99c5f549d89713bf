import type { AgentToolResult } from "@earendil-works/pi-agent-core";
import type { BuiltinTool } from "./context.ts";

export type ToolResult = AgentToolResult<unknown>;

/** What a running call has besides its arguments. */
export interface ToolRun {
  readonly signal: AbortSignal | undefined;
  /** Shows `text` as the call's state so far; the final result replaces it. */
  update(text: string, details?: unknown): void;
}

export interface ToolSpec<Params> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of `Params`. The agent loop checks arguments against it before `run` sees them. */
  readonly parameters: object;
  /** Brings other shapes that models are known to send into the schema's; must not throw. */
  readonly prepare?: (args: unknown) => unknown;
  run(params: Params, run: ToolRun): Promise<ToolResult>;
}

/**
 * Makes a built-in tool: the one place where the loop's untyped arguments get the type that the schema promises. A call
 * that is aborted before it starts does nothing.
 */
export function defineTool<Params>(spec: ToolSpec<Params>): BuiltinTool {
  const tool: BuiltinTool = {
    name: spec.name,
    label: spec.name,
    description: spec.description,
    parameters: spec.parameters,
    async execute(_id, params, signal, onUpdate) {
      throwIfAborted(signal);
      return await spec.run(params as Params, {
        signal,
        update: (text, details = {}) => onUpdate?.({ content: [{ type: "text", text }], details }),
      });
    },
  };
  if (spec.prepare) tool.prepareArguments = spec.prepare;
  return tool;
}

export function textResult(text: string, details: unknown = {}): ToolResult {
  return { content: [{ type: "text", text }], details };
}

/** Throws `aborted`, whatever the signal's reason is: the model and the user need to read the same word every time. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Error("aborted");
}

/**
 * `promise`, or `aborted` as soon as the signal fires: for what can't be ended, such as a read from a file system that
 * hangs. The work goes on unseen, so never use this for a change.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await promise;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error("aborted"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** A whole number from an optional argument, at least `min`; what is no number counts as not given. */
export function wholeNumber(value: number | undefined, fallback: number, min: number): number {
  return value === undefined || !Number.isFinite(value) ? fallback : Math.max(min, Math.floor(value));
}
