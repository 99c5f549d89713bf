/**
 * What an extension draws: its components live here, and the host gets their lines (the event `render`). The signatures of the
 * family differ: `renderCall(args, theme, context)` and `renderCall(args, options, theme)`, `renderResult(result, options, theme,
 * context)` and `(…, args)`. So what stands in such a place is both.
 */
import type { GuestTool, Registry, Renderer } from "./registry.ts";
import type { Theme } from "./theme.ts";

export interface RenderRequest {
  what: "toolCall" | "toolResult" | "message" | "entry" | "markdown";
  /** The tool's, or the type's of the message or the entry. */
  name: string;
  callId?: string;
  args?: unknown;
  result?: unknown;
  /** The message or the entry. */
  value?: unknown;
  text?: string;
  options?: Record<string, unknown>;
  width: number;
}

interface Component {
  render(width: number): unknown;
}

/** What the renderers of one tool call share. */
interface Shared {
  state: Record<string, unknown>;
  call?: unknown;
  result?: unknown;
}

/** So many tool calls are remembered. */
const MAX_CALLS = 200;
const calls = new Map<string, Shared>();

const KEYS: Readonly<Record<string, string>> = {
  "app.tools.expand": "ctrl+o",
  expandTools: "ctrl+o",
  "app.thinking.toggle": "ctrl+t",
  "app.interrupt": "escape",
};

/** Lines, or the text for Markdown; undefined if the extension draws none of it. Throws what a renderer throws. */
export async function render(
  registry: Registry,
  request: RenderRequest,
  theme: Theme,
): Promise<{ lines: string[] } | { text: string } | undefined> {
  const hints = {
    keyText: (id: unknown) => KEYS[String(id)] ?? "",
    keyHint: (id: unknown, description: unknown) =>
      theme.fg("dim", KEYS[String(id)] ?? "") + theme.fg("muted", ` ${String(description)}`),
    outputPad: 1,
    ...request.options,
    expanded: request.options?.expanded === true,
  };
  switch (request.what) {
    case "markdown":
      return transform(registry, request);
    case "message":
    case "entry": {
      const map = request.what === "message" ? registry.messageRenderers : registry.entryRenderers;
      const renderer = map.get(request.name);
      return renderer && lines(await renderer(request.value, hints, theme), request.width);
    }
    default:
      return drawTool(registry, request, theme, hints);
  }
}

async function drawTool(
  registry: Registry,
  request: RenderRequest,
  theme: Theme,
  hints: Record<string, unknown>,
): Promise<{ lines: string[] } | undefined> {
  const slot = request.what === "toolCall" ? "call" : "result";
  const renderer = rendererOf(registry, request.name, slot === "call" ? "renderCall" : "renderResult");
  if (!renderer) return undefined;
  const shared = sharedOf(request.callId);
  const args = request.args ?? {};
  const context = {
    ...hints,
    args,
    toolCallId: request.callId ?? "",
    invalidate: (): void => {},
    lastComponent: shared[slot],
    state: shared.state,
    cwd: registry.context.cwd,
    executionStarted: request.options?.executionStarted === true || slot === "result",
    argsComplete: request.options?.argsComplete !== false,
    isPartial: request.options?.isPartial === true,
    showImages: false,
    isError: (request.result as { isError?: unknown } | undefined)?.isError === true,
    durationMs: request.options?.durationMs,
  };
  const component =
    slot === "call"
      ? await renderer(args, theme.joined(context), theme.joined(context))
      : await renderer(request.result, context, theme, { ...(args as object), ...context });
  shared[slot] = component;
  return lines(component, request.width);
}

type ToolRenderers = Pick<GuestTool, "renderCall" | "renderResult">;

function rendererOf(
  registry: Registry,
  name: string,
  member: "renderCall" | "renderResult",
): Renderer | undefined {
  const from = (at: number): ToolRenderers | undefined => {
    const resolver = registry.toolRenderers[at];
    if (!resolver) return registry.tools.get(name);
    return resolver(name, () => from(at + 1)) as ToolRenderers | undefined;
  };
  const found = from(0)?.[member];
  return typeof found === "function" ? found : undefined;
}

function sharedOf(callId: string | undefined): Shared {
  if (callId === undefined) return { state: {} };
  const known = calls.get(callId) ?? { state: {} };
  // The one that was looked at last is forgotten last.
  calls.delete(callId);
  calls.set(callId, known);
  for (const oldest of calls.keys()) {
    if (calls.size <= MAX_CALLS) break;
    calls.delete(oldest);
  }
  return known;
}

async function lines(component: unknown, width: number): Promise<{ lines: string[] } | undefined> {
  if (component === undefined || component === null) return undefined;
  if (typeof component === "string") return { lines: component.split("\n") };
  if (typeof (component as Component).render !== "function") {
    throw new TypeError("a renderer gives a component, which has render(width)");
  }
  const drawn = (component as Component).render(width);
  if (!Array.isArray(drawn)) throw new TypeError("render(width) gives a list of lines");
  return { lines: drawn.map(String) };
}

function transform(registry: Registry, request: RenderRequest): { text: string } | undefined {
  const { messageType = "assistant" } = request.options ?? {};
  let text = request.text ?? "";
  let isChanged = false;
  for (const { transform, types } of registry.markdownTransformers) {
    if (!types.includes(String(messageType))) continue;
    const made = transform(text, {
      isStreaming: false,
      ...request.options,
      messageType,
      availableWidth: request.width,
    });
    if (typeof made !== "string") continue;
    isChanged = true;
    text = made;
  }
  return isChanged ? { text } : undefined;
}
