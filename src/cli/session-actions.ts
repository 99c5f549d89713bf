/** The session of a run as its extensions may use it: see `SessionActions`. */
import type { AgentSession, ThinkingLevel } from "../agent/agent-session-types.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { log } from "../base/log.ts";
import type { SentContent, SessionActions } from "../extensions/session-calls.ts";

export function sessionActions(session: AgentSession): SessionActions {
  const split = (content: string | SentContent) => {
    if (typeof content === "string") return { text: content, images: [] };
    const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
    return { text: texts.join("\n"), images: content.filter((part) => part.type === "image") };
  };
  return {
    state() {
      const { state } = session;
      return {
        isIdle: !state.isStreaming && !state.isCompacting,
        hasPendingMessages: state.pendingMessageCount > 0,
        contextUsage: session.contextUsage(),
        systemPrompt: session.systemPrompt,
        name: state.sessionName,
        file: state.sessionFile,
        thinkingLevel: state.thinkingLevel,
        leafId: session.entries().leafId,
      };
    },
    read(what) {
      return what === "header" ? session.header : session.entries().entries;
    },
    commands: () => session.commands(),
    sendMessage: (message, options) => session.sendCustomMessage(message, options),
    async sendUserMessage(content, deliverAs) {
      const { text, images } = split(content);
      await session.prompt(text, {
        images,
        streamingBehavior: deliverAs,
        source: "extension",
        expand: false,
      });
    },
    setName: (name) => session.setSessionName(name),
    async setModel(provider, modelId) {
      try {
        await session.setModel(provider, modelId);
        return true;
      } catch (error) {
        if (!(error instanceof XdevError)) throw error;
        log.debug(`an extension's model can't be used: ${errorText(error)}`);
        return false;
      }
    },
    setThinkingLevel: (level) => session.setThinkingLevel(level as ThinkingLevel),
    // A command that ends the run goes on itself.
    abort: () => void session.abort({ accepting: false }),
    compact: (instructions) => session.compact(instructions),
    waitForIdle: () => session.waitForIdle(),
    newSession: (parentSession) => session.newSession(parentSession === undefined ? {} : { parentSession }),
    switchSession: (path) => session.switchSession(path),
    fork: (entryId) => session.fork(entryId),
    navigateTree: (targetId, options) => session.navigateTree(targetId, options),
    reload: () => session.reload(),
  };
}
