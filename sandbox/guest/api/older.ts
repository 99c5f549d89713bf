/**
 * What modules of this family were written for before there were extensions: factories that give tools (`(pi: CustomToolAPI) => tool`),
 * and hooks with one event `session` for all that happens to it (`(pi: HookAPI)`). A text of its own: few need it.
 */
import type { GuestTool, Handler, Registry } from "./registry.ts";

type Event = Record<string, unknown>;

interface CustomTool extends Omit<GuestTool, "execute"> {
  execute(...args: unknown[]): unknown;
  /** Called when the session ends. */
  dispose?(): unknown;
}

/** Registers what a factory gave, if that is a tool or a list of tools; whatever else it gave has no meaning. */
export function registerGiven(pi: { registerTool(tool: unknown): void; on: On }, given: unknown): void {
  const tools: unknown[] = Array.isArray(given) ? given : [given];
  if (tools.length === 0 || !tools.every(isTool)) return;
  for (const tool of tools) {
    pi.registerTool(adapted(tool));
    if (typeof tool.dispose === "function") pi.on("session_shutdown", () => tool.dispose?.());
  }
}

type On = (event: string, handler: Handler) => () => void;

function isTool(value: unknown): value is CustomTool {
  const tool = value as Partial<CustomTool> | null;
  return typeof tool === "object" && typeof tool?.name === "string" && typeof tool.execute === "function";
}

/**
 * `execute` of such tools takes `(id, params, onUpdate, ctx, signal)`; before and after that it was, and is, `(id, params, signal,
 * onUpdate, ctx)`. Nothing but the name of its third parameter tells which.
 */
function adapted(tool: CustomTool): object {
  if (/signal|abort/i.test(parameterNames(tool.execute)[2] ?? "")) return tool;
  const execute: GuestTool["execute"] = (id, params, signal, onUpdate, context) =>
    tool.execute(id, params, onUpdate, context, signal);
  return Object.defineProperty(Object.create(tool) as object, "execute", {
    value: execute,
    enumerable: true,
  });
}

/** The names of a function's parameters, as far as they are plain names. */
export function parameterNames(run: (...args: never[]) => unknown): string[] {
  const source = Function.prototype.toString.call(run);
  const names: string[] = [];
  let name = "";
  let depth = 0;
  for (let at = source.indexOf("("); at >= 0 && at < source.length; at++) {
    const char = source[at]!;
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth === 0 || (depth === 1 && char === ",")) {
      names.push(name);
      name = "";
      if (depth === 0) break;
    } else if (!(depth === 1 && char === "(")) name += char;
  }
  return names.map((text) => /^\s*([\w$]+)/.exec(text)?.[1] ?? "");
}

interface Context {
  sessionManager: { getEntries(): Event[]; getSessionFile(): string | undefined };
  model: unknown;
  modelRegistry: { getApiKey?(model: unknown): unknown } | undefined;
}

/** What of a session's events such a hook was told, by the reason; undefined where it was told nothing. */
const REASONS: Readonly<Record<string, (event: Event) => string | undefined>> = {
  session_start: ({ reason }) => (reason === "startup" || reason === "reload" ? "start" : undefined),
  session_before_switch: ({ reason }) =>
    reason === "new" ? "before_clear" : reason === "resume" ? "before_switch" : undefined,
  session_switch: ({ reason }) => (reason === "new" ? "clear" : "switch"),
  session_before_branch: () => "before_branch",
  session_branch: () => "branch",
  session_before_compact: () => "before_compact",
  session_compact: () => "compact",
  session_shutdown: () => "shutdown",
};

/** `pi.on("session", handler)`: the handler for all of them. Gives the function that ends it. */
export function onSession(on: On, handler: Handler): () => void {
  const ends = Object.entries(REASONS).map(([name, reasonOf]) =>
    on(name, async (event, context) => {
      const reason = reasonOf(event);
      if (reason === undefined) return undefined;
      return resultOf(await handler(sessionEvent(event, reason, context as Context), context), event);
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}

function sessionEvent(
  event: Event,
  reason: string,
  { sessionManager, model, modelRegistry }: Context,
): Event {
  const told: Event = {
    ...event,
    type: "session",
    reason,
    sessionManager,
    // Read only if it is looked at: it takes the permission `session: read`.
    get entries() {
      return sessionManager.getEntries();
    },
    get sessionFile() {
      return sessionManager.getSessionFile() ?? null;
    },
    previousSessionFile: event.previousSessionFile ?? null,
  };
  if (reason === "before_branch") {
    Object.defineProperty(told, "targetTurnIndex", { get: () => turnOf(sessionManager, event.entryId) });
  }
  if (reason === "before_compact") {
    Object.assign(told, event.preparation, {
      model,
      resolveApiKey: async (wanted: unknown) => await modelRegistry?.getApiKey?.(wanted),
    });
  }
  return told;
}

/** Which of the user's messages an entry is, from 0. */
function turnOf(manager: Context["sessionManager"], entryId: unknown): number {
  const said = manager.getEntries().filter(({ message }) => (message as Event | undefined)?.role === "user");
  return said.findIndex(({ id }) => id === entryId);
}

/** `compactionEntry` is `compaction` now. */
function resultOf(given: unknown, { preparation }: Event): unknown {
  if (typeof given !== "object" || given === null || !("compactionEntry" in given)) return given;
  const { compactionEntry, ...rest } = given as { compactionEntry?: Event };
  if (!compactionEntry) return rest;
  const { firstKeptEntryId, tokensBefore } = { ...(preparation as Event | undefined), ...compactionEntry };
  return { ...rest, compaction: { ...compactionEntry, firstKeptEntryId, tokensBefore } };
}

interface PendingAction {
  label: string;
  apply(reason: string): unknown;
  reject?(reason: string): unknown;
}

const pending: PendingAction[] = [];

/**
 * `pi.pushPendingAction`: what a tool has shown as a preview, and does only when the model calls `resolve`, which is there from the
 * first of them on.
 */
export function pushPendingAction(
  registry: Registry,
  pi: { registerTool(tool: unknown): void },
  action: PendingAction,
): void {
  if (typeof action?.apply !== "function") throw new TypeError("pi.pushPendingAction: apply is no function");
  pending.push(action);
  if (registry.tools.has("resolve")) return;
  const parameters = {
    type: "object",
    properties: {
      action: { type: "string", enum: ["apply", "discard"] },
      reason: { type: "string" },
    },
    required: ["action", "reason"],
  };
  const execute = async (_id: string, given: { action: string; reason: string }): Promise<unknown> => {
    const last = pending.pop();
    if (!last) throw new Error("there is no pending action");
    const result =
      given.action === "apply" ? await last.apply(given.reason) : await last.reject?.(given.reason);
    const done = given.action === "apply" ? "Applied" : "Discarded";
    return result ?? { content: [{ type: "text", text: `${done}: ${last.label}` }], details: {} };
  };
  const description = "Apply or discard the last pending action, of which a tool has shown a preview.";
  pi.registerTool({ name: "resolve", label: "resolve", description, parameters, execute });
}
