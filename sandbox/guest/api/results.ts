/**
 * What the handlers of one extension return, made one answer (extension-api.md, "Events"): the host then does the same with the
 * answers of all. Names and members are the table's.
 */
import type { Handler } from "./registry.ts";

type Event = Record<string, unknown>;
type Result = Record<string, unknown>;
/** Calls one handler; undefined if it threw, which is told, or gave no object. */
export type Call = (handler: Handler, event: Event) => Promise<unknown>;

/** The answer, or undefined for none. */
export async function collect(
  event: Event,
  handlers: readonly Handler[],
  call: Call,
  signal: AbortSignal,
): Promise<unknown> {
  const rule = RULES[String(event.type)];
  if (rule) return rule(event, handlers, call, signal);
  for (const handler of handlers) await call(handler, event);
  return undefined;
}

function members(value: unknown): Result {
  return typeof value === "object" && value !== null ? (value as Result) : {};
}

/** The members that were given, in the end; the first `cancel` ends it. */
async function cancellable(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  const all: Result = {};
  for (const handler of handlers) {
    Object.assign(all, members(await call(handler, event)));
    if (all.cancel === true) return { cancel: true };
  }
  return Object.keys(all).length > 0 ? all : undefined;
}

/** Each sees in the event what the one before made of these members. */
function chain(...names: string[]) {
  return async (event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> => {
    const changes: Result = {};
    for (const handler of handlers) {
      const result = members(await call(handler, event));
      for (const name of names) {
        if (result[name] === undefined) continue;
        event[name] = changes[name] = result[name];
      }
    }
    return Object.keys(changes).length > 0 ? changes : undefined;
  };
}

/** Both forms: `{handled?, text?, images?}` and `{action, text?, images?}`. */
async function input(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  const changes: Result = {};
  for (const handler of handlers) {
    const { action, handled, text, images } = members(await call(handler, event));
    if (action === "continue") continue;
    if (text !== undefined) event.text = changes.text = text;
    if (images !== undefined) event.images = changes.images = images;
    if (handled === true || action === "handled") return { ...changes, handled: true };
  }
  return Object.keys(changes).length > 0 ? changes : undefined;
}

async function beforeAgentStart(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  const messages: unknown[] = [];
  let changed: unknown;
  for (const handler of handlers) {
    const { message, systemPrompt } = members(await call(handler, event));
    if (message !== undefined) messages.push(message);
    if (systemPrompt !== undefined) event.systemPrompt = changed = systemPrompt;
  }
  if (messages.length === 0 && changed === undefined) return undefined;
  return { messages, systemPrompt: changed };
}

/** Any value but undefined replaces the payload, so it goes in a member of its own. */
async function payload(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  let changed = false;
  for (const handler of handlers) {
    const result = await call(handler, event);
    if (result === undefined) continue;
    event.payload = result;
    changed = true;
  }
  return changed ? { payload: event.payload } : undefined;
}

async function compacting(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  const all: Result = {};
  const context: unknown[] = [];
  for (const handler of handlers) {
    const result = members(await call(handler, event));
    if (Array.isArray(result.context)) context.push(...result.context);
    if (result.prompt !== undefined) all.prompt = result.prompt;
    if (result.preserveData !== undefined) {
      all.preserveData = { ...members(all.preserveData), ...members(result.preserveData) };
    }
  }
  if (context.length > 0) all.context = context;
  return Object.keys(all).length > 0 ? all : undefined;
}

/** The first result wins. `operations` are functions: the command is run with them here. */
async function first(
  event: Event,
  handlers: readonly Handler[],
  call: Call,
  signal: AbortSignal,
): Promise<unknown> {
  for (const handler of handlers) {
    const { result, operations } = members(await call(handler, event));
    if (result !== undefined) return { result };
    const { exec } = members(operations);
    if (typeof exec === "function") {
      return call(async () => ({ result: await runWith(exec.bind(operations), event, signal) }), event);
    }
  }
  return undefined;
}

type Exec = (
  command: string,
  cwd: string,
  options: { onData(data: Uint8Array | string): void; signal: AbortSignal },
) => Promise<{ exitCode: number | null }>;

/** As much of what a command writes is kept, in characters: its end. */
const MAX_OUTPUT = 200_000;

async function runWith(exec: Exec, { command, code, cwd }: Event, signal: AbortSignal): Promise<unknown> {
  const decoder = new TextDecoder();
  let output = "";
  let truncated = false;
  const onData = (data: Uint8Array | string): void => {
    output += typeof data === "string" ? data : decoder.decode(data, { stream: true });
    if (output.length <= 2 * MAX_OUTPUT) return;
    output = output.slice(-MAX_OUTPUT);
    truncated = true;
  };
  const { exitCode } = await exec(String(command ?? code), String(cwd), { onData, signal });
  output += decoder.decode();
  if (output.length > MAX_OUTPUT) truncated = true;
  return {
    output: output.slice(-MAX_OUTPUT),
    ...(typeof exitCode === "number" ? { exitCode } : {}),
    cancelled: signal.aborted,
    truncated,
  };
}

async function gathered(event: Event, handlers: readonly Handler[], call: Call): Promise<unknown> {
  const all: Record<string, unknown[]> = {};
  for (const handler of handlers) {
    const result = members(await call(handler, event));
    for (const name of ["skillPaths", "promptPaths", "themePaths"]) {
      const paths = result[name];
      if (Array.isArray(paths)) all[name] = [...(all[name] ?? []), ...paths];
    }
  }
  return Object.keys(all).length > 0 ? all : undefined;
}

const RULES: Record<
  string,
  (event: Event, handlers: readonly Handler[], call: Call, signal: AbortSignal) => Promise<unknown>
> = {
  __proto__: null as never,
  session_before_switch: cancellable,
  session_before_branch: cancellable,
  session_before_compact: cancellable,
  session_before_tree: cancellable,
  "session.compacting": compacting,
  input,
  before_agent_start: beforeAgentStart,
  context: chain("messages"),
  message_end: chain("message"),
  before_provider_request: payload,
  user_bash: first,
  user_python: first,
  resources_discover: gathered,
};
