/** The actions of `pi`: what an extension may do once it is loaded (extension-api.md, "`pi`"). */
import type { Session } from "./session.ts";

// biome-ignore lint/suspicious/noExplicitAny: each checks what it needs, and the host checks all of it
type Action = (...args: any[]) => unknown;

interface ExecOptions {
  cwd?: string;
  /** In ms. */
  timeout?: number;
  signal?: AbortSignal;
}

type ExecFile = (
  file: string,
  args: readonly string[],
  options: object,
  done: (error: { code?: unknown; killed?: boolean } | null, stdout: string, stderr: string) => void,
) => unknown;

export function createActions(
  session: Session,
  importPackage: (name: string) => unknown,
): Record<string, Action> {
  const namesOf = (method: string) => session.askNow(method) as unknown[];
  return {
    /** Hooks have `triggerTurn` itself for the options, and a text for the message. */
    sendMessage: (given, options?: { deliverAs?: unknown; triggerTurn?: unknown } | boolean) => {
      const { deliverAs, triggerTurn } =
        typeof options === "boolean" ? { triggerTurn: options } : (options ?? {});
      const message =
        typeof given === "string" ? { customType: "message", content: given, display: true } : given;
      session.tell("pi.sendMessage()", "session.sendMessage", { message, deliverAs, triggerTurn });
    },
    sendUserMessage: (content, options?: { deliverAs?: unknown; expandPromptTemplates?: unknown }) =>
      session.tell("pi.sendUserMessage()", "session.sendUserMessage", {
        content,
        deliverAs: options?.deliverAs,
        ...(options?.expandPromptTemplates === true ? { expand: true } : {}),
      }),
    /** As hooks have it: what the user would have said next. */
    send: (content) =>
      session.tell("pi.send()", "session.sendUserMessage", { content, deliverAs: "followUp" }),
    getActiveTools: () => namesOf("tools.active"),
    getAllTools: () => namesOf("tools.all"),
    setActiveTools: (names) => session.tell("pi.setActiveTools()", "tools.setActive", { names }),
    getCommands: () => namesOf("session.commands"),
    getSessionName: () => session.state.name,
    setSessionName: (name) => session.tell("pi.setSessionName()", "session.setName", { name }),
    /** @param model with `provider` and `id`; or `provider/id`. Gives whether it could be had. */
    setModel: async (model: { provider?: unknown; id?: unknown } | string) => {
      const { provider, id } =
        typeof model === "string"
          ? { provider: model.split("/")[0], id: model.slice(model.indexOf("/") + 1) }
          : model;
      const { changed } = (await session.act("session.setModel", { provider, modelId: id })) as {
        changed: boolean;
      };
      return changed;
    },
    getThinkingLevel: () => session.state.thinkingLevel,
    /** The settings of the session: a copy. */
    getSettings: () => ({ ...(session.askNow("session.settings") as object | null) }),
    setThinkingLevel: (level) => session.tell("pi.setThinkingLevel()", "session.setThinkingLevel", { level }),
    exec: runner(importPackage),
  };
}

/** A program, with the permission `run`. It does not reject for what the program says: that is in `code`. */
export function runner(importPackage: (name: string) => unknown) {
  return (command: string, args: readonly string[] = [], { cwd, timeout, signal }: ExecOptions = {}) => {
    const { execFile } = importPackage("child_process") as { execFile: ExecFile };
    return new Promise((resolve) => {
      const options = {
        ...(cwd ? { cwd } : {}),
        ...(timeout ? { timeout } : {}),
        ...(signal ? { signal } : {}),
      };
      execFile(command, args, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        const why = error !== null && typeof error.code !== "number" ? String(error) : "";
        resolve({ stdout, stderr: stderr || why, code, killed: error?.killed === true });
      });
    });
  };
}
