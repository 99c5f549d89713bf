/** Turns the host's frames into calls of the extension's handlers and tools, and what they give into answers. */
import type { SessionUi } from "../protocol.ts";
import { contextMaker } from "./context.ts";
import type { Handler, Registry, SessionContext } from "./registry.ts";
import { collect } from "./results.ts";
import type { Session } from "./session.ts";
import { StreamedMessage } from "./streamed-message.ts";
import { describeError, describeErrorAndPlace, type Transmitter } from "./transmit.ts";

const { parse, stringify } = JSON;

interface EventFrame {
  id: string;
  event: string;
  payload: Record<string, unknown>;
}

type Answer = Record<string, unknown>;

export function createDispatcher(
  registry: Registry,
  transmitter: Transmitter,
  session: Session,
  ui: SessionUi = { mode: "print", hasUI: false },
): (frame: unknown) => void {
  const running = new Map<string, AbortController>();
  const createContext = contextMaker(registry, transmitter, session, ui);
  const streamed = new StreamedMessage();

  const answerEvent = async (frame: EventFrame): Promise<void> => {
    const abort = new AbortController();
    running.set(frame.id, abort);
    let answer: Answer;
    try {
      // Before anything else is handled: parts belong to the message that has begun.
      if (frame.event === "message_start") streamed.start(frame.payload.message);
      if (frame.event === "message_update") {
        frame.payload.message = streamed.add(frame.payload.assistantMessageEvent);
      }
      answer = await handle(registry, transmitter, frame, abort.signal, createContext);
    } catch (error) {
      // What the model reads is the message; the place is for the author.
      answer = { error: describeError(error) };
      transmitter.log("debug", `${frame.event}: ${describeErrorAndPlace(error)}`);
    }
    running.delete(frame.id);
    try {
      transmitter.send({ type: "response", id: frame.id, ...answer });
    } catch (error) {
      transmitter.send({
        type: "response",
        id: frame.id,
        error: `its answer cannot be sent: ${describeError(error)}`,
      });
    }
  };

  return (value) => {
    const frame = value as { type: string; id: string };
    if (frame.type === "event") void answerEvent(value as EventFrame);
    else if (frame.type === "cancel") running.get(frame.id)?.abort();
    else if (frame.type === "return") transmitter.answer(frame);
  };
}

function handle(
  registry: Registry,
  transmitter: Transmitter,
  frame: EventFrame,
  signal: AbortSignal,
  createContext: (signal: AbortSignal, isCommand: boolean) => unknown,
): Promise<Answer> {
  const { event, payload } = frame;
  if (event === "session_start") registry.context = payload as unknown as SessionContext;
  const context = createContext(signal, event === "command");
  switch (event) {
    case "tool_call":
      return decide(registry, payload, context);
    case "tool_result":
      return patch(registry, transmitter, payload, context);
    case "tool_invoke":
      return invoke(registry, transmitter, frame, signal, context);
    case "command":
      return command(registry, payload, context);
    default:
      return notify(registry, transmitter, { ...payload, type: event }, signal, context);
  }
}

/** A handler that throws blocks (the error reaches the host as `error`, which denies). */
async function decide(
  registry: Registry,
  payload: Record<string, unknown>,
  context: unknown,
): Promise<Answer> {
  const before = stringify(payload.arguments);
  const event: Record<string, unknown> = {
    type: "tool_call",
    toolName: payload.tool,
    toolCallId: payload.callId,
    input: payload.arguments,
  };
  for (const handler of registry.handlers.get("tool_call") ?? []) {
    const result = (await handler(event, context)) as { block?: unknown; reason?: unknown } | undefined;
    if (result?.block) {
      return { allow: false, reason: typeof result.reason === "string" ? result.reason : undefined };
    }
  }
  const after = stringify(event.input);
  if (after === before) return { allow: true };
  // On the wire an empty `revise` means "no change"; here it means that nothing of the call is left.
  if (typeof event.input !== "object" || event.input === null || after === "{}") {
    return { allow: false, reason: "it removed the arguments of the call" };
  }
  return { allow: true, revise: event.input };
}

async function patch(
  registry: Registry,
  transmitter: Transmitter,
  payload: Record<string, unknown>,
  context: unknown,
): Promise<Answer> {
  const event: Record<string, unknown> = {
    type: "tool_result",
    toolName: payload.tool,
    toolCallId: payload.callId,
    input: payload.arguments,
    content: payload.content,
    details: payload.details,
    isError: (payload.result as { isError?: unknown } | undefined)?.isError === true,
  };
  const changes: Record<string, unknown> = {};
  for (const handler of registry.handlers.get("tool_result") ?? []) {
    try {
      const result = (await handler(event, context)) as Record<string, unknown> | undefined;
      for (const member of ["content", "details", "isError"]) {
        if (result?.[member] === undefined) continue;
        event[member] = result[member];
        changes[member] = result[member];
      }
    } catch (error) {
      report(transmitter, "tool_result", error);
    }
  }
  return { result: changes };
}

async function invoke(
  registry: Registry,
  transmitter: Transmitter,
  frame: EventFrame,
  signal: AbortSignal,
  context: unknown,
): Promise<Answer> {
  const { tool: name, arguments: params, callId } = frame.payload;
  const tool = registry.tools.get(String(name));
  if (!tool) throw new Error(`has no tool ${String(name)}`);
  const onUpdate = (partial: unknown): void =>
    transmitter.send({ type: "update", id: frame.id, payload: outcome(partial) });
  return { result: outcome(await tool.execute(String(callId), params, signal, onUpdate, context)) };
}

/** What a tool gave, as the host expects it: a text alone, or nothing, is a result, too. */
function outcome(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  const { content, details, isError } = value as Record<string, unknown>;
  return {
    content: typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []),
    details: details === undefined ? undefined : parse(stringify(details)),
    isError: isError === true,
  };
}

async function command(
  registry: Registry,
  payload: Record<string, unknown>,
  context: unknown,
): Promise<Answer> {
  const found = registry.commands.get(String(payload.command));
  if (!found) throw new Error(`has no command ${String(payload.command)}`);
  const text = await found.handler(String(payload.arguments ?? ""), context);
  return typeof text === "string" ? { patch: { text } } : {};
}

/** A handler that throws is an error of the extension, which the host tells; the others are called all the same. */
async function notify(
  registry: Registry,
  transmitter: Transmitter,
  event: Record<string, unknown>,
  signal: AbortSignal,
  context: unknown,
): Promise<Answer> {
  const name = String(event.type);
  const handlers = registry.handlers.get(name);
  if (!handlers) return {};
  const withSignal = name === "session_before_compact" || name === "session_before_tree";
  const errors: string[] = [];
  const call = async (handler: Handler, given: Record<string, unknown>): Promise<unknown> => {
    try {
      return await handler(given, context);
    } catch (error) {
      errors.push(describeError(error));
      report(transmitter, name, error);
      return undefined;
    }
  };
  const result = await collect(withSignal ? { ...event, signal } : event, handlers, call);
  return {
    ...(result === undefined ? {} : { result }),
    ...(errors.length > 0 ? { error: errors.join("; ") } : {}),
  };
}

function report(transmitter: Transmitter, event: string, error: unknown): void {
  transmitter.log("error", `its ${event} handler failed: ${describeErrorAndPlace(error)}`);
}
