/** Turns the host's frames into calls of the extension's handlers and tools, and what they give into answers. */
import type { SessionUi } from "../protocol.ts";
import { TOOL_SESSION_REASONS } from "./capabilities.ts";
import { contextMaker } from "./context.ts";
import type { GuestTool, Handler, Registry, SessionContext } from "./registry.ts";
import { collect } from "./results.ts";
import { type ImportOwn, serve } from "./services.ts";
import type { Session } from "./session.ts";
import { StreamedMessage } from "./streamed-message.ts";
import { describeError, describeErrorAndPlace, type Transmitter } from "./transmit.ts";

const { stringify } = JSON;

interface EventFrame {
  id: string;
  event: string;
  payload: Record<string, unknown>;
}

type Answer = Record<string, unknown>;

/** What the host asks besides events of the session. */
const SERVICES: ReadonlySet<string> = new Set(["bus", "completions", "render", "shortcut"]);

export function createDispatcher(
  registry: Registry,
  transmitter: Transmitter,
  session: Session,
  importOwn: ImportOwn,
  ui: SessionUi = { mode: "print", hasUI: false },
): (frame: unknown) => void {
  const running = new Map<string, AbortController>();
  const createContext = contextMaker(registry, transmitter, session, importOwn, ui);
  const { signal: never } = new AbortController();
  registry.ambient = () => createContext(never, false);
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
      const isService = SERVICES.has(frame.event);
      answer = isService
        ? {
            result: await serve(registry, session, frame, importOwn, () =>
              createContext(abort.signal, false),
            ),
          }
        : await handle(registry, transmitter, session, importOwn, frame, abort.signal, createContext);
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
  session: Session,
  importOwn: ImportOwn,
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
      return invoke(registry, transmitter, importOwn, frame, signal, context);
    case "command":
      return command(registry, transmitter, payload, context);
    case "before_agent_start":
      return withPromptOptions(session, importOwn, registry, { ...payload, type: event }, (asked) =>
        notify(registry, transmitter, asked, signal, context),
      );
    case "provider_stream":
    case "provider_auth":
      return provide(registry, event, payload, signal);
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

/** `systemPromptOptions` of the event: sections that handlers add to the system prompt. */
async function withPromptOptions(
  session: Session,
  importOwn: ImportOwn,
  registry: Registry,
  event: Record<string, unknown>,
  ask: (event: Record<string, unknown>) => Promise<Answer>,
): Promise<Answer> {
  if (!registry.handlers.has("before_agent_start")) return {};
  let made: { options: unknown; added(): string } | undefined;
  Object.defineProperty(event, "systemPromptOptions", {
    get: () => {
      made ??= (importOwn("internal/prompt").promptOptions as PromptOptionsMaker)(
        session,
        registry.context.cwd,
      );
      return made.options;
    },
    enumerable: false,
  });
  event.messageType ??= "user";
  const answer = await ask(event);
  const added = made?.added() ?? "";
  if (added === "") return answer;
  const result = (answer.result ?? {}) as { systemPrompt?: unknown };
  const before = result.systemPrompt ?? event.systemPrompt;
  return { ...answer, result: { ...result, systemPrompt: `${String(before)}\n\n${added}` } };
}

type PromptOptionsMaker = (session: Session, cwd: string) => { options: unknown; added(): string };

async function invoke(
  registry: Registry,
  transmitter: Transmitter,
  importOwn: ImportOwn,
  frame: EventFrame,
  signal: AbortSignal,
  context: unknown,
): Promise<Answer> {
  const { tool: name, arguments: params, callId } = frame.payload;
  const tool = registry.tools.get(String(name));
  if (!tool) throw new Error(`has no tool ${String(name)}`);
  const onUpdate = (partial: unknown): void =>
    transmitter.send({ type: "update", id: frame.id, payload: outcome(partial) });
  const given = tool.prepareArguments ? await prepared(tool, params, importOwn) : params;
  const toolContext = Object.defineProperties(context as object, {
    tools: { value: [], enumerable: true },
    executeTool: { value: refuseTool(String(callId)), enumerable: true },
  });
  return { result: outcome(await tool.execute(String(callId), given, signal, onUpdate, toolContext)) };
}

/** Arguments that the tool itself makes fit for its schema; the host has not looked at them. */
async function prepared(tool: GuestTool, params: unknown, importOwn: ImportOwn): Promise<unknown> {
  const made = await tool.prepareArguments?.(params);
  if (tool.parameters === undefined || tool.parameters === null) return made;
  const { Check, Errors } = importOwn("typebox/value") as {
    Check(schema: unknown, value: unknown): boolean;
    Errors(schema: unknown, value: unknown): Iterable<Record<string, unknown>>;
  };
  if (Check(tool.parameters, made)) return made;
  const [first = {}] = Errors(tool.parameters, made);
  const place = String(first.instancePath ?? first.path ?? "").replace(/^\//, "");
  throw new Error(
    `the arguments do not fit: ${place === "" ? "" : `${place}: `}${String(first.message ?? "")}`,
  );
}

/** Tools call no other tools here: what the model has not asked for, no policy and no user has seen it ask for. */
function refuseTool(callId: string): (name: unknown, args: unknown) => Promise<unknown> {
  let calls = 0;
  return async (name, args) => ({
    toolCall: { type: "toolCall", id: `${callId}/${++calls}`, name: String(name), arguments: args },
    result: {
      content: [{ type: "text", text: "ctx.executeTool: a tool can't call another one in xdev" }],
      details: undefined,
    },
    isError: true,
  });
}

/** What a tool gave, as the host expects it: a text alone, or nothing, is a result, too. */
function outcome(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  const { content, details, isError, terminate } = value as Record<string, unknown>;
  return {
    content: typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []),
    details,
    isError: isError === true,
    ...(terminate === true ? { terminate: true } : {}),
  };
}

interface CommandContext {
  reload(): Promise<void>;
}

/**
 * Resolves when the handler asks for a reload, which ends its frame (extensions-guide.fr.md, "Contraintes et pièges"): what comes
 * behind it would be of a session that is gone, so that its own wait has no end.
 */
function frameEnd(context: CommandContext, transmitter: Transmitter): Promise<undefined> {
  return new Promise((resolve) => {
    const { reload } = context;
    context.reload = () => {
      reload().catch((error: unknown) => transmitter.log("error", `ctx.reload(): ${describeError(error)}`));
      resolve(undefined);
      return new Promise(() => {});
    };
  });
}

async function command(
  registry: Registry,
  transmitter: Transmitter,
  payload: Record<string, unknown>,
  context: unknown,
): Promise<Answer> {
  const found = registry.commands.get(String(payload.command));
  if (!found) throw new Error(`has no command ${String(payload.command)}`);
  const ended = frameEnd(context as CommandContext, transmitter);
  const text = await Promise.race([found.handler(String(payload.arguments ?? ""), context), ended]);
  return typeof text === "string" ? { patch: { text } } : {};
}

async function provide(
  { providerDesk }: Registry,
  event: string,
  payload: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Answer> {
  if (!providerDesk) throw new Error("has no model provider");
  return { result: await providerDesk.handle(event, payload, signal) };
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
  const handlers = registry.handlers.get(name) ?? [];
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
  const result =
    handlers.length === 0
      ? undefined
      : await collect(withSignal ? { ...event, signal } : event, handlers, call, signal);
  await tellTools(registry, event, (handler) => call(handler, event), context);
  return {
    ...(result === undefined ? {} : { result }),
    ...(errors.length > 0 ? { error: errors.join("; ") } : {}),
  };
}

/** `onSession` of tools. A session that is left for another is told as the change that it is. */
async function tellTools(
  registry: Registry,
  { type, reason, previousSessionFile }: Record<string, unknown>,
  call: (handler: Handler) => Promise<unknown>,
  context: unknown,
): Promise<void> {
  const told = TOOL_SESSION_REASONS.get(String(type));
  if (told === undefined || (told === "start" && /^(?:new|resume|fork)$/.test(String(reason)))) return;
  for (const tool of registry.tools.values()) {
    if (typeof tool.onSession !== "function") continue;
    await call(() => tool.onSession?.({ reason: told, previousSessionFile }, context));
  }
}

function report(transmitter: Transmitter, event: string, error: unknown): void {
  transmitter.log("error", `its ${event} handler failed: ${describeErrorAndPlace(error)}`);
}
