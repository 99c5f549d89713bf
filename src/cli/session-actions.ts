/** The session of a run as its extensions may use it: see `SessionActions`. */
import type { AgentSession } from "../agent/agent-session-types.ts";
import { isThinkingLevel } from "../agent/session/models.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { oneLine, stripControls } from "../base/text.ts";
import type { SentContent, SentMessage, SessionActions } from "../extensions/session-calls.ts";
import { publicModel } from "../models/public.ts";

/**
 * The canonical path of a session that an extension names: a file in the folder of the session that is open. The right to change
 * the session is none to read other folders' conversations, nor to learn what else is on the disk: every other path has one error.
 */
async function sessionBeside(open: string | undefined, path: string): Promise<string> {
  const { lstat, realpath } = await import("node:fs/promises");
  const { basename, dirname, isAbsolute, join } = await import("node:path");
  try {
    if (open !== undefined && isAbsolute(path) && path.endsWith(".jsonl")) {
      const folder = await realpath(dirname(open));
      const file = join(folder, basename(path));
      if ((await realpath(dirname(path))) === folder && (await lstat(file)).isFile()) return file;
    }
  } catch {
    // Whatever it is that can't be looked at is no session beside this one.
  }
  throw new XdevError(
    "no-session",
    "an extension switches only to a session in the folder of the one that is open",
    {
      hint: "the user can open any other with `xdev --session PATH`",
    },
  );
}

/** Whoever asks for it is gone when it is done: what goes wrong is for the user. */
export async function reloadAndTell(
  session: AgentSession,
  notice: (text: string) => void,
  options?: { onlyIfChanged?: boolean },
): Promise<void> {
  try {
    await session.reload(options);
  } catch (error) {
    notice(`the extensions are not reloaded: ${errorText(error)}`);
    throw error;
  }
}

/** What of the run the session itself does not know. */
export interface RunFacts {
  isProjectTrusted: boolean;
  settings: unknown;
  /** Tells the user something. */
  notice(text: string): void;
  /** Ends the run when nothing goes on any more. */
  shutdown(): void;
}

const NO_RUN: RunFacts = { isProjectTrusted: false, settings: {}, notice() {}, shutdown() {} };

/** What all extensions together may say in a run of the program, in characters: a flood must fill neither memory nor disk. */
const MAX_SAID = 256 * 1024 * 1024;

export function sessionActions(
  session: AgentSession,
  run: RunFacts = NO_RUN,
  maxSaid: number = MAX_SAID,
): SessionActions {
  let said = 0;
  const count = (what: SentMessage | string | SentContent): void => {
    const { length } = JSON.stringify(what);
    if (said + length > maxSaid) {
      throw new XdevError(
        "too-much",
        `extensions may say ${maxSaid} characters in a run, and that much is said`,
      );
    }
    said += length;
  };
  const split = (content: string | SentContent) => {
    if (typeof content === "string") return { text: content, images: [] };
    const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
    return { text: texts.join("\n"), images: content.filter((part) => part.type === "image") };
  };
  let reloading: Promise<void> | undefined;
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
        model: state.model && publicModel(state.model),
        isProjectTrusted: run.isProjectTrusted,
        leafId: session.leafId,
      };
    },
    read(what) {
      return what === "header" ? session.header : session.readEntries();
    },
    model: () => session.state.model && publicModel(session.state.model),
    settings: () => run.settings,
    commands: () => session.commands(),
    async sendMessage(message, options) {
      count(message);
      await session.sendCustomMessage(message, options);
    },
    async sendUserMessage(content, deliverAs, expand) {
      count(content);
      const { text, images } = split(content);
      await session.prompt(text, {
        images,
        streamingBehavior: deliverAs,
        source: "extension",
        expand,
      });
    },
    setName: (name) => session.setSessionName(stripControls(name)),
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
    setThinkingLevel(level) {
      if (!isThinkingLevel(level)) throw new Error(`there is no thinking level ${level.slice(0, 40)}`);
      session.setThinkingLevel(level);
    },
    setLabel: (entryId, label) => session.setLabel(entryId, label === undefined ? undefined : oneLine(label)),
    shutdown: () => run.shutdown(),
    // A command that ends the run goes on itself.
    abort: () => void session.abort({ accepting: false }),
    compact: (instructions) => session.compact(instructions),
    waitForIdle: () => session.waitForIdle(),
    newSession: (parentSession) => session.newSession(parentSession === undefined ? {} : { parentSession }),
    switchSession: async (path) =>
      session.switchSession(await sessionBeside(session.state.sessionFile, path), { isCanonical: true }),
    fork: (entryId) => session.fork(entryId),
    navigateTree: (targetId, options) => session.navigateTree(targetId, options),
    // Each tells everyone that a session begins: those that are asked for while one goes on are one.
    reload() {
      reloading ??= reloadAndTell(session, run.notice).finally(() => {
        reloading = undefined;
      });
      return reloading;
    },
  };
}
