/** Members of `ctx` in the handlers of commands (extension-api.md, "`ctx`"): what changes to another session. */
import { type Session, sessionManager } from "./session.ts";

interface Replaced {
  cancelled?: boolean;
}

interface NewSessionOptions {
  parentSession?: string;
  setup?: (manager: Record<string, unknown>) => unknown;
  withSession?: (context: unknown) => unknown;
}

/** `self` gives the context itself: what is done in the new session is done with it, since extensions live on. */
export function commandContext(session: Session, self: () => object): Record<string, unknown> {
  /** Calls what the extension wants to do in the session that it has come to. */
  const arrived = async (
    moved: Promise<unknown>,
    { setup, withSession }: NewSessionOptions = {},
  ): Promise<unknown> => {
    const outcome = (await moved) as Replaced | undefined;
    if (outcome?.cancelled !== true) {
      if (typeof setup === "function") await setup(writer(session));
      if (typeof withSession === "function") await withSession(replaced(session, self()));
    }
    return outcome;
  };
  const fork = (entryId: unknown, options?: NewSessionOptions & { position?: unknown }): Promise<unknown> => {
    if (options?.position !== undefined && options.position !== "before") {
      return Promise.reject(
        new Error('ctx.fork: xdev forks before a message of the user: position "before"'),
      );
    }
    return arrived(session.act("session.fork", { entryId }), options);
  };
  return {
    waitForIdle: async () => void (await session.act("session.waitForIdle")),
    newSession: (options?: NewSessionOptions) =>
      arrived(session.act("session.newSession", { parentSession: options?.parentSession }), options),
    switchSession: (path: unknown, options?: NewSessionOptions) =>
      arrived(session.act("session.switchSession", { path }), options),
    branch: fork,
    fork,
    navigateTree: (targetId: unknown, options?: { summarize?: boolean; customInstructions?: string }) =>
      session.act("session.navigateTree", {
        targetId,
        summarize: options?.summarize,
        customInstructions: options?.customInstructions,
      }),
    reload: async () => void (await session.act("session.reload")),
  };
}

/** What `withSession` gets: the context, and messages that can be waited for. */
function replaced(session: Session, context: object): object {
  return Object.assign(Object.create(context), {
    sendMessage: async (message: unknown, options?: { deliverAs?: unknown; triggerTurn?: unknown }) =>
      void (await session.act("session.sendMessage", {
        message,
        deliverAs: options?.deliverAs,
        triggerTurn: options?.triggerTurn,
      })),
    sendUserMessage: async (content: unknown, options?: { deliverAs?: unknown }) =>
      void (await session.act("session.sendUserMessage", { content, deliverAs: options?.deliverAs })),
  });
}

/** What `setup` gets: a session that can be read, and to which entries of extensions can be added. */
function writer(session: Session): Record<string, unknown> {
  return {
    ...sessionManager(session),
    appendCustomEntry: async (customType: unknown, data?: unknown) =>
      ((await session.act("session.append", { customType, data })) as { id: string }).id,
    appendCustomMessageEntry: async (
      customType: unknown,
      content: unknown,
      display = true,
      details?: unknown,
    ) =>
      void (await session.act("session.sendMessage", { message: { customType, content, display, details } })),
    appendSessionInfo: async (name: unknown) => void (await session.act("session.setName", { name })),
    appendLabelChange: async (entryId: unknown, label?: unknown) =>
      void (await session.act("session.setLabel", { entryId, label: label ?? null })),
    appendMessage() {
      throw new Error(
        "setup: a message of the user or the model is not written by an extension: use appendCustomMessageEntry, or sendUserMessage in withSession",
      );
    },
  };
}
