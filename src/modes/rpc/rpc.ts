/**
 * Rpc mode: a program drives the session, by commands on standard input, and follows it by records on standard output (`xdev docs
 * rpc`). Commands begin in the order in which they came and are answered when they are done, so that one can end another; a
 * command behind one that changes the session or its model waits for that.
 */
import type { Readable } from "node:stream";
import type { AgentSession } from "../../agent/agent-session-types.ts";
import { errorText, XdevError } from "../../base/errors.ts";
import { log, redact, redactTexts } from "../../base/log.ts";
import { withTimeout } from "../../base/time.ts";
import type { Served } from "../mode.ts";
import type { RecordOutput } from "../records.ts";
import { wireEvent } from "../wire.ts";
import { type Command, type CommandType, parseLine } from "./commands.ts";
import { Connection } from "./connection.ts";
import { HANDLERS, type HandlerContext, Json } from "./handlers.ts";
import { RpcUi } from "./ui.ts";

export interface RpcOptions {
  input: Readable;
  output: RecordOutput;
  /** Ends it, as the end of the input does. */
  interrupt: AbortSignal;
  /** The longest line of the client in bytes. */
  lineLimit?: number;
}

export interface Rpc {
  /** Whom extensions ask, also while they load. */
  readonly ui: RpcUi;
  /** Writes a record that is no event of the session. */
  send(record: unknown): void;
  /**
   * Serves the client until its input ends or the program is interrupted. Then what goes on is ended, every command is answered,
   * and the session is disposed of; after an interrupt its owner does that, who knows how long there is. Gives the exit status;
   * rejects if the session can't begin. Commands wait for its beginning, answers of the user do not.
   */
  serve(served: Served): Promise<number>;
}

/** What follows these must find them done. */
const CHANGES: ReadonlySet<CommandType> = new Set([
  "new_session",
  "switch_session",
  "fork",
  "branch",
  "clone",
  "set_model",
  "cycle_model",
]);
/** These end something, so they wait for nothing. */
const ENDS: ReadonlySet<CommandType> = new Set(["abort", "abort_retry", "abort_bash", "clear_queue"]);

/** What an `abort` behind them is about, also while they wait. */
const STARTS: ReadonlySet<CommandType> = new Set(["prompt", "steer", "follow_up"]);

/** How long commands that go on at the end are waited for, in ms: what can be ended has ended by then. */
const END_MS = 5000;
/** The same after a signal, whose sender does not wait for long. */
const INTERRUPTED_MS = 300;

/** So many commands may come before there is a session for them. */
const EARLY_LIMIT = 1000;

/** Begins to listen to the client: its answers count from now on, its commands wait for `serve`. */
export function openRpc(options: RpcOptions): Rpc {
  const over = new AbortController();
  const connection = new Connection({
    ...options,
    interrupt: AbortSignal.any([options.interrupt, over.signal]),
  });
  const ui = new RpcUi((record) => connection.send(record));
  const refuse = (command: string, id: string | undefined, error: string) =>
    connection.send({ id, type: "response", command, success: false, error: redact(error) });
  const early: Command[] = [];
  let take = (command: Command): void => {
    if (early.length < EARLY_LIMIT) early.push(command);
    else refuse(command.type, command.id, "too many commands before the session has begun");
  };
  const ended = connection.read({
    line(line) {
      const parsed = parseLine(line);
      if (parsed.kind === "command") return take(parsed);
      if (parsed.kind === "malformed") return refuse(parsed.command, parsed.id, parsed.error);
      const wrong = ui.answer(parsed.answer);
      if (wrong !== undefined) refuse("extension_ui_response", parsed.answer.id, wrong);
    },
    tooLong: (limit) =>
      refuse("parse", undefined, `Failed to parse command: the line is longer than ${limit} bytes`),
  });
  // Nobody is left to answer.
  void ended.then(() => ui.close());
  return {
    ui,
    send: (record) => connection.send(record),
    async serve({ session, start, ending, ...rest }) {
      const unsubscribe = session.subscribe((event) => {
        connection.send(wireEvent(event));
        return connection.ready();
      });
      const commands = new Commands({ session, ...rest }, connection);
      const started = start();
      commands.follow(started);
      for (const command of early.splice(0)) commands.take(command);
      take = (command) => commands.take(command);
      void ending?.then(async () => {
        await session.waitForIdle();
        await commands.settled();
        over.abort();
      });
      try {
        const failed = new Promise<never>((_, reject) => void started.catch(reject));
        await Promise.race([ended, failed]);
        const { interrupt } = options;
        if (!interrupt.aborted) await Promise.race([commands.changing, whenAborted(interrupt)]);
      } finally {
        const isInterrupted = options.interrupt.aborted;
        if (isInterrupted) endWork(session);
        else await session.dispose();
        const ms = isInterrupted ? INTERRUPTED_MS : END_MS;
        await withTimeout(commands.settled(), ms, "the end of the commands").catch((error: unknown) =>
          log.debug(errorText(error)),
        );
        if (!isInterrupted) unsubscribe();
      }
      return 0;
    },
  };
}

/** The commands that are under way. */
class Commands {
  readonly #context: HandlerContext;
  readonly #connection: Connection;
  readonly #going = new Set<Promise<void>>();
  /** Those that would start something and wait. */
  readonly #held = new Set<{ isCancelled: boolean }>();
  /** What further commands wait for; undefined most of the time. */
  changing: Promise<void> | undefined;

  constructor(context: HandlerContext, connection: Connection) {
    this.#context = context;
    this.#connection = connection;
  }

  take(command: Command): void {
    const before = ENDS.has(command.type) ? undefined : this.changing;
    if (command.type === "abort") for (const one of this.#held) one.isCancelled = true;
    const held = before && STARTS.has(command.type) ? { isCancelled: false } : undefined;
    if (held) this.#held.add(held);
    const perform = async (): Promise<void> => {
      if (held) this.#held.delete(held);
      if (!held?.isCancelled) return answer(this.#context, this.#connection, command);
      const { id, type } = command;
      const error = "the prompt was cancelled before its run began";
      this.#connection.send({ id, type: "response", command: type, success: false, error });
    };
    const work = before ? before.then(perform) : perform();
    if (CHANGES.has(command.type)) this.follow(work);
    this.#going.add(work);
    void work.then(() => this.#going.delete(work));
  }

  /** Commands that come from now on begin when `work` is done. */
  follow(work: Promise<void>): void {
    const done = work.then(
      () => {},
      () => {},
    );
    this.changing = done;
    void done.then(() => {
      if (this.changing === done) this.changing = undefined;
    });
  }

  async settled(): Promise<void> {
    await Promise.all(this.#going);
  }
}

/** Carries a command out and answers it; never rejects. */
async function answer(
  context: HandlerContext,
  connection: Connection,
  { type, id, params }: Command,
): Promise<void> {
  const head = { id, type: "response", command: type };
  try {
    const handler = HANDLERS[type] as (context: HandlerContext, params: unknown, id?: string) => unknown;
    const data = await handler(context, params, id);
    const record = { ...head, success: true };
    if (data instanceof Json) {
      connection.sendText(`${JSON.stringify(record, redactTexts).slice(0, -1)},"data":${data.text}}`);
    } else connection.sendText(JSON.stringify({ ...record, data }, redactTexts));
  } catch (error) {
    connection.send({ ...head, success: false, error: redact(explain(error)) });
  }
}

function endWork(session: AgentSession): void {
  session.clearQueue();
  session.abortBash();
  session.abortCompaction();
  void session.abort();
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function explain(error: unknown): string {
  const hint = error instanceof XdevError && error.hint !== undefined ? ` (${error.hint})` : "";
  return errorText(error) + hint;
}
