/** One session of an editor: a run of its own, in the folder that the editor names. */
import {
  type AgentContext,
  type ClientCapabilities,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { AgentSession, ThinkingLevel } from "../../agent/agent-session-types.ts";
import { errorText, XdevError } from "../../base/errors.ts";
import { log, redact } from "../../base/log.ts";
import { failureOf, type Mode, type Served } from "../mode.ts";
import type { AcpPrompt } from "./prompt.ts";
import { commandsOf, redactDeep, replayOf, updatesFor } from "./updates.ts";
import { acpDialogs, acpUser } from "./user.ts";

/** In this mode the model has the tools that change nothing. */
const READING = new Set(["read", "grep", "find", "ls", "todo"]);
const MODES = [
  { id: "code", name: "Code", description: "all tools" },
  { id: "ask", name: "Ask", description: "only the tools that read files" },
] as const;
type ModeId = (typeof MODES)[number]["id"];

interface Begun {
  session: AgentSession;
  options: SessionConfigOption[];
}

export class AcpSession {
  readonly #client: AgentContext;
  readonly #capabilities: ClientCapabilities;
  readonly #served = Promise.withResolvers<Served>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #id = Promise.withResolvers<string>();
  /** Something is to be asked before the session is there. */
  readonly #asking = Promise.withResolvers<void>();
  /** The editor has the session's id, or has it in a moment. */
  readonly #known = Promise.withResolvers<void>();
  #session: AgentSession | undefined;
  #begun: Promise<Begun> | undefined;
  #cwd = "";
  #modeId: ModeId = "code";
  #isPrompted = false;
  /** Of what goes on now. */
  #cancelling = new AbortController();
  readonly #closing = new AbortController();
  readonly #givenUp = new AbortController();
  /** The last update that is on its way: an answer goes behind it. */
  #sent: Promise<void> = Promise.resolve();

  constructor(client: AgentContext, capabilities: ClientCapabilities) {
    this.#client = client;
    this.#capabilities = capabilities;
    this.#served.promise.catch(() => {});
  }

  /** For the run that this session is. */
  get mode(): Mode {
    const asking = {
      client: this.#client,
      capabilities: this.#capabilities,
      closing: this.#closing.signal,
      cancelled: () => this.#cancelling.signal,
      sessionId: async () => {
        const id = await this.#id.promise;
        this.#asking.resolve();
        await this.#known.promise;
        return this.#session?.state.sessionId ?? id;
      },
    };
    return {
      begin() {},
      event() {},
      notice: (text) => log.warn(text),
      say: (text) => this.#update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
      finish: () => true,
      client: {
        ui: {
          notify: (extension, message, level) =>
            log.debug(`extension ${extension} says (${level}): ${message}`),
          dialogs: acpDialogs(asking),
        },
        hasUI: () => this.#capabilities.elicitation?.form != null,
        identify: (id) => this.#id.resolve(id),
        user: () => acpUser(asking),
        serve: (served) => this.#serve(served),
      },
    };
  }

  /** Aborts when it is to end before it has begun. */
  get signal(): AbortSignal {
    return this.#givenUp.signal;
  }

  /** Its run has ended: who waits for it to begin is told why it did not. */
  ended(error: unknown): void {
    this.#served.reject(error);
    this.#closed.resolve();
  }

  /**
   * Resolves when it has begun.
   * @param replays whether the conversation so far is told again
   * @param modeId the mode that it was in when it was closed
   */
  async open(
    replays: boolean,
    modeId?: string,
  ): Promise<{
    sessionId: string;
    modes: SessionModeState;
    configOptions: SessionConfigOption[];
  }> {
    const known = MODES.find(({ id }) => id === modeId);
    if (known) this.#modeId = known.id;
    const begun = this.#begin(replays, known?.id);
    this.#begun = begun;
    begun.catch(() => {});
    // A question that comes while extensions load is about a session that the editor must know.
    const configOptions = (await Promise.race([begun, this.#asking.promise]))?.options ?? [];
    // Behind the answer, with which the editor learns the session's id.
    setTimeout(() => {
      this.#known.resolve();
      void begun.then(
        ({ session, options }) => {
          this.#tellCommands(session);
          session.subscribe((event) => {
            if (event.type === "session_start" && event.reason === "reload") this.#tellCommands(session);
          });
          if (configOptions.length > 0 || options.length === 0) return;
          this.#update({ sessionUpdate: "config_option_update", configOptions: options });
        },
        (error: unknown) => log.warn(`the session can not begin: ${errorText(error)}`),
      );
    }, 0);
    return { sessionId: await this.#id.promise, modes: this.#modes(), configOptions };
  }

  #tellCommands(session: AgentSession): void {
    this.#update({
      sessionUpdate: "available_commands_update",
      availableCommands: commandsOf(session),
    });
  }

  async #begin(replays: boolean, modeId: string | undefined): Promise<Begun> {
    const { session, start, cwd } = await this.#served.promise;
    await start();
    if (modeId !== undefined) this.#enter(session, modeId);
    if (replays) for (const update of replayOf(session.messages, cwd)) this.#update(update);
    const options = await this.#configOptions(session);
    await this.#sent;
    return { session, options };
  }

  async prompt({ text, images }: AcpPrompt): Promise<PromptResponse> {
    if (this.#isPrompted) {
      throw RequestError.invalidRequest(
        undefined,
        "the session is at work: cancel that, or wait for its end",
      );
    }
    this.#isPrompted = true;
    this.#cancelling = new AbortController();
    const { signal } = this.#cancelling;
    try {
      // An extension that asks something while it loads may keep the session from its beginning for long.
      const session = await Promise.race([this.#whenBegun(), aborted(signal)]);
      if (!session || signal.aborted) return { stopReason: "cancelled" };
      const before = session.messages.length;
      const { disposition } = await session.prompt(text, { images, source: "rpc" });
      await session.waitForIdle();
      await this.#sent;
      if (disposition === "handled") return { stopReason: signal.aborted ? "cancelled" : "end_turn" };
      return stopOf(session, before, signal.aborted);
    } catch (error) {
      if (signal.aborted && error instanceof XdevError && error.code === "aborted") {
        return { stopReason: "cancelled" };
      }
      throw error;
    } finally {
      this.#isPrompted = false;
    }
  }

  async cancel(): Promise<void> {
    this.#cancelling.abort();
    const session = this.#session;
    if (!session) return;
    session.clearQueue();
    session.abortBash();
    session.abortCompaction();
    await session.abort();
  }

  /** Ends it, and resolves when its run is over. */
  async close(): Promise<void> {
    await this.cancel();
    this.#closed.resolve();
    this.#closing.abort();
    // What has not begun is not waited for.
    if (!this.#session) this.#givenUp.abort();
  }

  get modeId(): string {
    return this.#modeId;
  }

  async setMode(id: string): Promise<void> {
    this.#enter(await this.#whenBegun(), id);
  }

  #enter(session: AgentSession, id: string): void {
    const mode = MODES.find((one) => one.id === id);
    if (!mode) throw RequestError.invalidParams(undefined, `there is no mode ${redact(JSON.stringify(id))}`);
    session.limitTools(mode.id === "ask" ? READING : undefined);
    this.#modeId = mode.id;
  }

  async setOption(id: string, value: unknown): Promise<SessionConfigOption[]> {
    const session = await this.#whenBegun();
    if (id === "model" && typeof value === "string" && value.includes("/")) {
      const slash = value.indexOf("/");
      await session.setModel(value.slice(0, slash), value.slice(slash + 1));
    } else if (id === "thinking" && session.availableThinkingLevels().includes(value as ThinkingLevel)) {
      session.setThinkingLevel(value as ThinkingLevel);
    } else if (id === "model" || id === "thinking") {
      throw RequestError.invalidParams(undefined, `${id} can not be ${redact(JSON.stringify(value))}`);
    } else
      throw RequestError.invalidParams(
        undefined,
        `there is no option ${redact(id)}: there are model and thinking`,
      );
    return this.#configOptions(session);
  }

  async #whenBegun(): Promise<AgentSession> {
    if (!this.#begun) throw RequestError.invalidRequest(undefined, "the session has not begun");
    return (await this.#begun).session;
  }

  async #serve(served: Served): Promise<number> {
    const { session } = served;
    this.#session = session;
    this.#cwd = served.cwd;
    const unsubscribe = session.subscribe((event) => {
      if (event.type === "notice") log.warn(event.text);
      if (event.type === "extension_error") {
        log.warn(`extension ${event.extensionPath}: its ${event.event} handler failed: ${event.error}`);
      }
      let last: Promise<void> | undefined;
      for (const update of updatesFor(event, this.#cwd)) last = this.#update(update);
      if (event.type === "turn_end") last = this.#usage(session) ?? last;
      // An editor that does not keep up is waited for.
      return last;
    });
    this.#served.resolve(served);
    await this.#closed.promise;
    unsubscribe();
    await session.dispose();
    return 0;
  }

  #usage(session: AgentSession): Promise<void> | undefined {
    const usage = session.contextUsage();
    if (!usage || usage.tokens === null) return undefined;
    return this.#update({ sessionUpdate: "usage_update", used: usage.tokens, size: usage.contextWindow });
  }

  #modes(): SessionModeState {
    return { currentModeId: this.#modeId, availableModes: MODES.map((mode) => ({ ...mode })) };
  }

  async #configOptions(session: AgentSession): Promise<SessionConfigOption[]> {
    const { model, thinkingLevel } = session.state;
    const models = await session.availableModels().catch(() => []);
    const nameOf = ({ provider, id }: { provider: string; id: string }) => `${provider}/${id}`;
    const known = [...new Set([...(model ? [nameOf(model)] : []), ...models.map(nameOf)])];
    const levels = session.availableThinkingLevels();
    return [
      ...(model ? [select("model", "Model", "model", nameOf(model), known)] : []),
      ...(levels.length > 1 ? [select("thinking", "Thinking", "thought_level", thinkingLevel, levels)] : []),
    ];
  }

  /** Sends an update behind those before it; never rejects. */
  #update(update: SessionUpdate): Promise<void> {
    const sessionId = this.#session?.state.sessionId;
    if (sessionId === undefined) return this.#sent;
    const sending = this.#client
      .notify("session/update", { sessionId, update: redactDeep(update) })
      .catch((error: unknown) => {
        log.debug(`the editor was not told: ${errorText(error)}`);
      });
    this.#sent = this.#sent.then(() => sending);
    return this.#sent;
  }
}

/** Resolves with undefined when the signal aborts. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}

function select(
  id: string,
  name: string,
  category: string,
  currentValue: string,
  values: readonly string[],
): SessionConfigOption {
  const options = values.map((value) => ({ value, name: value }));
  return { type: "select", id, name, category, currentValue, options };
}

/** Throws what went wrong with the model, for the editor to show. */
function stopOf(session: AgentSession, before: number, isCancelled: boolean): PromptResponse {
  if (isCancelled) return { stopReason: "cancelled" };
  if (session.turnsExhausted) return { stopReason: "max_turn_requests" };
  const messages = session.messages.slice(before);
  const last = messages.findLast((message) => message.role === "assistant");
  if (last?.role === "assistant" && last.stopReason === "length") return { stopReason: "max_tokens" };
  const failure = failureOf(messages, {});
  if (failure === undefined) return { stopReason: "end_turn" };
  throw RequestError.internalError(undefined, redact(failure));
}
