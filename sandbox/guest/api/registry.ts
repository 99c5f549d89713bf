/** `pi`: what an extension registers, and the actions that it may take once it is loaded (extension-api.md, "`pi`"). */
import { createActions } from "./actions.ts";
import type { Session } from "./session.ts";
import { describeError, type Transmitter } from "./transmit.ts";

export type Handler = (event: Record<string, unknown>, context: unknown) => unknown;

export interface GuestTool {
  name: string;
  label?: string;
  description?: string;
  parameters?: unknown;
  hidden?: boolean;
  defaultInactive?: boolean;
  execute(
    toolCallId: string,
    params: unknown,
    signal: AbortSignal,
    onUpdate: (partial: unknown) => void,
    context: unknown,
  ): unknown;
}

export interface GuestCommand {
  description?: string;
  handler(args: string, context: unknown): unknown;
}

/** What the host last said about the session. */
export interface SessionContext {
  cwd: string;
  sessionId: string;
  model: unknown;
}

export interface Registry {
  readonly name: string;
  loading: boolean;
  label: string | undefined;
  readonly handlers: Map<string, Handler[]>;
  readonly tools: Map<string, GuestTool>;
  readonly commands: Map<string, GuestCommand>;
  readonly flags: Map<string, unknown>;
  readonly shortcuts: Map<string, unknown>;
  readonly messageRenderers: Map<string, unknown>;
  readonly providers: Map<string, unknown>;
  context: SessionContext;
}

/** What an action throws while the extension loads (extensions-guide.fr.md, "Modèle de runtime"). */
export class ExtensionRuntimeNotInitializedError extends Error {
  override readonly name = "ExtensionRuntimeNotInitializedError";
  constructor(action: string) {
    super(
      `pi.${action}() is not available while the extension loads: call it from an event, a command or a tool`,
    );
  }
}

/** Names that others of this family have for events. */
const ALIASES = new Map([
  ["session_before_fork", "session_before_branch"],
  ["session_fork", "session_branch"],
]);

export function createExtensionApi(
  registry: Registry,
  transmitter: Transmitter,
  session: Session,
  importPackage: (name: string) => unknown,
): Record<string, unknown> {
  const whileLoading = (method: string): void => {
    if (!registry.loading) throw new Error(`pi.${method}() is only possible while the extension loads`);
  };
  const keep = (method: string, map: Map<string, unknown>) => (name: unknown, value?: unknown) => {
    whileLoading(method);
    map.set(text(name, `${method}: the name`), value ?? null);
  };

  const api: Record<string, unknown> = {
    on(event: unknown, handler: unknown): void {
      whileLoading("on");
      const given = text(event, "pi.on: the event's name");
      const name = ALIASES.get(given) ?? given;
      if (typeof handler !== "function") throw new TypeError(`pi.on("${given}"): the handler is no function`);
      const handlers = registry.handlers.get(name) ?? [];
      handlers.push(handler as Handler);
      registry.handlers.set(name, handlers);
    },
    registerTool(tool: unknown): void {
      whileLoading("registerTool");
      const definition = tool as GuestTool;
      const name = text(definition?.name, "pi.registerTool: name");
      if (typeof definition.execute !== "function") {
        throw new TypeError(`pi.registerTool("${name}"): execute is no function`);
      }
      registry.tools.set(name, definition);
    },
    registerCommand(name: unknown, command: unknown): void {
      whileLoading("registerCommand");
      const key = text(name, "pi.registerCommand: the name");
      if (typeof (command as GuestCommand)?.handler !== "function") {
        throw new TypeError(`pi.registerCommand("${key}"): handler is no function`);
      }
      registry.commands.set(key, command as GuestCommand);
    },
    setLabel(label: unknown): void {
      registry.label = text(label, "pi.setLabel: the label");
    },
    registerFlag: keep("registerFlag", registry.flags),
    registerShortcut: keep("registerShortcut", registry.shortcuts),
    registerMessageRenderer: keep("registerMessageRenderer", registry.messageRenderers),
    registerProvider(name: unknown, config: unknown): void {
      keep("registerProvider", registry.providers)(name, config);
      // What is data of it; functions (streamSimple, oauth) do not cross.
      transmitter.send({
        type: "action",
        action: "register_provider",
        payload: { ...(config as object), name },
      });
    },
    /** Kept in the session and never sent to the model; needs the permission `session: write`. */
    appendEntry(customType: unknown, data?: unknown): void {
      if (registry.loading) throw new ExtensionRuntimeNotInitializedError("appendEntry");
      const type = text(customType, "pi.appendEntry: the type");
      transmitter.ask("session.append", { customType: type, data }).catch((error: unknown) => {
        transmitter.log("error", `pi.appendEntry("${type}"): ${describeError(error)}`);
      });
    },
    getFlag: (name: unknown): unknown =>
      (registry.flags.get(String(name)) as { default?: unknown } | undefined)?.default,
    logger: {
      debug: (message: unknown) => transmitter.log("debug", String(message)),
      info: (message: unknown) => transmitter.log("info", String(message)),
      warn: (message: unknown) => transmitter.log("warn", String(message)),
      error: (message: unknown) => transmitter.log("error", String(message)),
    },
    /** What the agent's package exports. */
    get pi() {
      return importPackage("pi-coding-agent");
    },
    get typebox() {
      return importPackage("@sinclair/typebox");
    },
  };
  for (const [action, run] of Object.entries(createActions(session, importPackage))) {
    api[action] = (...args: unknown[]) => {
      if (registry.loading) throw new ExtensionRuntimeNotInitializedError(action);
      return run(...args);
    };
  }
  return api;
}

function text(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new TypeError(`${what} must be a text that is not empty`);
}
