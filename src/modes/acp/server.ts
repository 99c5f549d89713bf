/**
 * Acp mode: an editor drives the agent by the Agent Client Protocol on standard input and output (`xdev docs acp`). Each session
 * of the editor's is a run of its own: its extensions, trust, tools and file are those of the folder that it names.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import {
  type AgentContext,
  agent,
  type ClientCapabilities,
  type McpServer,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { errorText, XdevError } from "../../base/errors.ts";
import { canonicalPath } from "../../base/files.ts";
import { log, redact } from "../../base/log.ts";
import { printLong } from "../../base/output.ts";
import { withTimeout } from "../../base/time.ts";
import { VERSION } from "../../base/version.ts";
import type { SessionChoice } from "../../cli/session-args.ts";
import type { Mode } from "../mode.ts";
import { promptOf } from "./prompt.ts";
import { AcpSession } from "./session.ts";

export interface AcpOptions {
  dataDir: string;
  /** What the command line says of sessions: in which folder they are, or that none is kept. */
  session: SessionChoice;
  /** Ends all sessions, and the program. */
  interrupt: AbortSignal;
  /** Runs a session in a mode until that lets it end, or the signal aborts. */
  run(options: { cwd: string; choice: SessionChoice; mode: Mode; signal: AbortSignal }): Promise<number>;
}

/** How long sessions have to end when the editor is gone, in ms; and how long it has then to read what is left. */
const END_MS = 5000;
/** The longest message of the editor, in bytes: prompts carry files and images. */
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

interface Open {
  session: AcpSession;
  running: Promise<unknown>;
  cwd: string;
}

/** Serves the editor until its input ends or the program is interrupted. Gives the exit status. */
export async function serveAcp(options: AcpOptions): Promise<number> {
  const sessions = new Map<string, Open>();
  let capabilities: ClientCapabilities = {};
  /** The modes of sessions that were closed: who was not to change anything is not let to by a load. */
  const modes = new Map<string, string>();

  const find = (id: string): AcpSession => {
    const found = sessions.get(id);
    if (!found) throw RequestError.resourceNotFound(redact(id));
    return found.session;
  };

  const open = async (
    client: AgentContext,
    cwd: string,
    choice: SessionChoice,
    replays: boolean,
    servers: readonly McpServer[] | undefined,
  ) => {
    checkFolder(cwd);
    if (servers && servers.length > 0) {
      log.warn(`the editor's MCP servers are not used: ${servers.map(({ name }) => name).join(", ")}`);
    }
    const session = new AcpSession(client, capabilities);
    const signal = AbortSignal.any([options.interrupt, session.signal]);
    const running = options.run({ cwd, choice, mode: session.mode, signal }).then(
      () => session.ended(new XdevError("aborted", "the session has ended")),
      (error: unknown) => session.ended(error),
    );
    try {
      const opened = await session.open(replays, choice.kind === "resume" ? modes.get(choice.id) : undefined);
      const entry = { session, running, cwd };
      sessions.set(opened.sessionId, entry);
      void running.then(() => {
        if (sessions.get(opened.sessionId) === entry) sessions.delete(opened.sessionId);
      });
      return opened;
    } catch (error) {
      await session.close();
      throw forEditor(error);
    }
  };

  const inDir =
    options.session.kind !== "none" && options.session.sessionDir !== undefined
      ? { sessionDir: options.session.sessionDir }
      : {};
  const fresh: SessionChoice = options.session.kind === "none" ? { kind: "none" } : { kind: "new", ...inDir };

  /** The file of a session by its whole id. */
  const fileOf = async (id: string): Promise<string> => {
    const [{ findSession }, { idOfFileName }] = await Promise.all([
      import("../../session/list.ts"),
      import("../../session/paths.ts"),
    ]);
    const file = await findSession(options.dataDir, id, inDir).catch((error: unknown) => {
      throw forEditor(error);
    });
    if (idOfFileName(file) !== id) throw RequestError.resourceNotFound(redact(id));
    return file;
  };

  /** Goes on with a session that is there. What can't be is found out before one that is open is ended. */
  const reopen = async (
    client: AgentContext,
    { cwd, sessionId: id, mcpServers }: { cwd: string; sessionId: string; mcpServers?: readonly McpServer[] },
    replays: boolean,
  ) => {
    checkFolder(cwd);
    await fileOf(id);
    await close(id);
    const { modes, configOptions } = await open(
      client,
      cwd,
      { kind: "resume", id, ...inDir },
      replays,
      mcpServers,
    );
    return { modes, configOptions };
  };

  const close = async (id: string): Promise<void> => {
    const entry = sessions.get(id);
    if (!entry) return;
    sessions.delete(id);
    modes.set(id, entry.session.modeId);
    await entry.session.close();
    await entry.running;
  };

  const app = agent({ name: "xdev" })
    .onRequest("initialize", ({ params }) => {
      capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: Math.min(params.protocolVersion, PROTOCOL_VERSION),
        agentInfo: { name: "xdev", title: "xdev", version: VERSION },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
        authMethods: [],
      };
    })
    .onRequest("authenticate", () => ({}))
    .onRequest("session/new", ({ params, client }) =>
      open(client, params.cwd, fresh, false, params.mcpServers),
    )
    .onRequest("session/load", ({ params, client }) => reopen(client, params, true))
    .onRequest("session/resume", ({ params, client }) => reopen(client, params, false))
    .onRequest("session/list", async ({ params }) => {
      const { listSessions } = await import("../../session/list.ts");
      // As it is kept with the session: without links on the way.
      const cwd = params.cwd ? await canonicalPath(params.cwd) : undefined;
      const found = await listSessions(options.dataDir, { ...(cwd === undefined ? {} : { cwd }), ...inDir });
      return {
        sessions: found.map(({ id, cwd, name, firstMessage, modified }) => ({
          sessionId: id,
          cwd,
          title: redact(name ?? firstMessage ?? "").slice(0, 200),
          updatedAt: new Date(modified).toISOString(),
        })),
      };
    })
    .onRequest("session/delete", async ({ params }) => {
      const isOpen = sessions.has(params.sessionId);
      await close(params.sessionId);
      // One without an answer has no file yet.
      const file = await fileOf(params.sessionId).catch((error: unknown) => {
        if (isOpen) return undefined;
        throw error;
      });
      if (file === undefined) return {};
      const { deleteSession } = await import("../../session/delete.ts");
      await deleteSession(file, { dataDir: options.dataDir }).catch((error: unknown) => {
        throw forEditor(error);
      });
      return {};
    })
    .onRequest("session/close", async ({ params }) => {
      find(params.sessionId);
      await close(params.sessionId);
      return {};
    })
    .onRequest("session/set_mode", async ({ params }) => {
      try {
        await find(params.sessionId).setMode(params.modeId);
      } catch (error) {
        throw forEditor(error);
      }
      return {};
    })
    .onRequest("session/set_config_option", async ({ params }) => {
      try {
        const configOptions = await find(params.sessionId).setOption(params.configId, params.value);
        return { configOptions };
      } catch (error) {
        throw forEditor(error);
      }
    })
    .onRequest("session/prompt", async ({ params }) => {
      const session = find(params.sessionId);
      const prompt = promptOf(params.prompt);
      try {
        return await session.prompt(prompt);
      } catch (error) {
        throw forEditor(error);
      }
    })
    .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.session.cancel());

  const connection = app.connect(ndJsonStream(output(), input(), { maxMessageBytes: MAX_MESSAGE_BYTES }));
  const stop = () => connection.close();
  options.interrupt.addEventListener("abort", stop, { once: true });
  if (options.interrupt.aborted) stop();
  await connection.closed;
  options.interrupt.removeEventListener("abort", stop);
  const ending = Promise.all([...sessions.keys()].map(close));
  await withTimeout(ending, END_MS, "the end of the sessions").catch((error: unknown) =>
    log.debug(errorText(error)),
  );
  // An editor that is gone without having read everything is not waited for.
  setTimeout(() => process.exit(0), END_MS).unref();
  return 0;
}

/** Throws `RequestError` for what can be no session's folder. */
function checkFolder(cwd: string): void {
  if (!isAbsolute(cwd)) throw RequestError.invalidParams(undefined, "cwd is no absolute path");
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw RequestError.invalidParams(undefined, `${redact(cwd)} is not a folder`);
  }
}

/** An error in the editor's terms: what the user can read, and nothing of a key. */
function forEditor(error: unknown): unknown {
  if (error instanceof RequestError) return error;
  if (error instanceof XdevError && error.code === "session-in-use") {
    return RequestError.internalError(undefined, `${error.message} (end it there)`);
  }
  const hint = error instanceof XdevError && error.hint !== undefined ? ` (${error.hint})` : "";
  const text = redact(errorText(error) + hint);
  if (error instanceof XdevError && error.code === "usage") {
    return RequestError.invalidParams(undefined, text.replace("--cwd ", "the folder "));
  }
  const isMissing = error instanceof XdevError && ["no-session", "unknown-entry"].includes(error.code);
  return isMissing ? RequestError.resourceNotFound(text) : RequestError.internalError(undefined, text);
}

function input(): ReadableStream<Uint8Array> {
  const chunks = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next().catch(() => ({ done: true as const, value: undefined }));
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => void process.stdin.destroy(),
  });
}

/** A write is done when the system has taken it, so that an editor that does not read holds up the session and fills no memory. */
function output(): WritableStream<Uint8Array> {
  return new WritableStream({
    write: (bytes) => new Promise((resolve) => printLong("stdout", bytes, resolve)),
  });
}
