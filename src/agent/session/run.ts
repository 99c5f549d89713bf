/**
 * A run: what follows one prompt until nothing goes on by itself any more. It is made of attempts, each of them one pass of
 * pi-agent-core's loop; between two of them stand what went wrong (a retry, a compaction, a stream rule) and what was queued.
 */
import {
  type AgentMessage,
  runAgentLoop,
  runAgentLoopContinue,
  type StreamFn,
} from "@earendil-works/pi-agent-core";
import type { AssistantMessage, AssistantMessageEvent } from "@earendil-works/pi-ai";
import { errorText } from "../../base/errors.ts";
import { redact } from "../../base/log.ts";
import { emptyMessage } from "../../models/stream.ts";
import type { Core } from "./core.ts";
import { onLoopEvent } from "./events.ts";
import { loopConfig } from "./requests.ts";
import { Retries } from "./retry.ts";
import { type Cut, cutByRules, watchRules } from "./rules.ts";
import { remindOfTodos } from "./todo.ts";

export interface Kept<M> {
  message: M;
  entryId: string | undefined;
}

/** One pass of the loop. */
export interface Attempt {
  readonly abort: AbortController;
  /** The messages that it has added so far, with their entries. */
  readonly kept: Kept<AgentMessage>[];
  /** The last of them that the model gave. */
  answer?: Kept<AssistantMessage>;
  /** Set for a message that is watched. */
  onStart?: () => void;
  onUpdate?: (event: AssistantMessageEvent) => void;
  /** Rules that cut it. */
  cut?: Cut;
  /** At its end: finds out what follows, and whether that is the same request again. */
  decide(messages: AgentMessage[]): Promise<boolean>;
}

/** What follows an attempt: messages to go on with, or the conversation as it is; undefined: the run is over. */
type Next = { prompts?: AgentMessage[]; fromSteering?: boolean };

export class Run {
  readonly #core: Core;
  readonly #retries: Retries;
  readonly #done = Promise.withResolvers<void>();
  #attempt: Attempt | undefined;
  /** Whether the user ended it. */
  isAborted = false;
  turnIndex = 0;
  turns = 0;
  /** A request that is too long is made shorter once, and a compaction that failed is not tried again. */
  overflowTried = false;
  compactionFailed = false;
  /** Ends what is no part of the loop: preparation, a wait, a compaction. */
  readonly #outer = new AbortController();

  constructor(core: Core) {
    this.#core = core;
    this.#retries = new Retries(core);
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  get signal(): AbortSignal {
    return this.#attempt?.abort.signal ?? this.#outer.signal;
  }

  get isRetrying(): boolean {
    return this.#retries.isWaiting;
  }

  abort(): void {
    this.isAborted = true;
    this.#outer.abort();
    this.#attempt?.abort.abort();
    this.#retries.abort();
  }

  abortRetry(): void {
    this.#retries.abort();
  }

  onAnswer(message: AssistantMessage): void {
    this.#retries.onAnswer(message);
  }

  /** Takes its course; never rejects. `begin` gives the messages that it starts with. */
  async go(begin: (signal: AbortSignal) => Promise<AgentMessage[]>): Promise<void> {
    const core = this.#core;
    try {
      let next: Next | undefined = { prompts: await begin(this.#outer.signal) };
      while (next && !this.isAborted) next = await this.#try(next);
      // What was to be said next is not lost.
      core.afterRun.unshift(...(next?.prompts ?? []));
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#retries.finish();
      core.run = undefined;
      for (const message of core.afterRun.splice(0)) core.add(message);
      const { isAborted } = this;
      // Queued messages of an aborted run begin the next one.
      const mayGoOn = !core.isDisposed && core.moving !== "leaving";
      if (mayGoOn && isAborted && core.steering.length + core.followUps.length > 0) {
        core.run = new Run(core);
        void core.run.go(async () => {
          await core.compacting?.done;
          return this.#queued()?.prompts ?? [];
        });
      } else core.publish({ type: "agent_settled", aborted: isAborted });
      this.#done.resolve();
    }
  }

  async #try({ prompts, fromSteering }: Next): Promise<Next | undefined> {
    const core = this.#core;
    const follow: { next?: () => Promise<Next | undefined> } = {};
    const attempt: Attempt = {
      abort: new AbortController(),
      kept: [],
      decide: async () => {
        const { isSame, next } = await this.#decide(attempt);
        follow.next = next;
        return isSame;
      },
    };
    this.#attempt = attempt;
    await watchRules(core, attempt);
    const context = { messages: core.messages.slice(), tools: core.options.tools.active() };
    const config = loopConfig(core, this, attempt, fromSteering === true);
    const emit = async (event: Parameters<typeof onLoopEvent>[3]) => {
      await onLoopEvent(core, this, attempt, event);
      const ready = core.listenersReady();
      if (ready) await ready;
    };
    const { signal } = attempt.abort;
    // The model may be another from one turn to the next.
    const stream: StreamFn = (model, ...rest) => core.streamOf(model)(model, ...rest);
    try {
      if (prompts) {
        await runAgentLoop(prompts, context, config, emit, signal, stream);
      } else await runAgentLoopContinue(context, config, emit, signal, stream);
    } finally {
      this.#attempt = undefined;
    }
    return follow.next?.();
  }

  /** What follows an attempt, and whether it is the same request again. */
  async #decide(attempt: Attempt): Promise<{ isSame: boolean; next: () => Promise<Next | undefined> }> {
    const core = this.#core;
    const over = { isSame: false, next: async () => undefined };
    const { answer } = attempt;
    if (attempt.cut && !this.isAborted) {
      return { isSame: true, next: async () => ({ prompts: await cutByRules(core, attempt) }) };
    }
    if (this.isAborted || !answer) return over;
    const { message } = answer;
    if (await this.#isTooLong(message)) {
      return {
        isSame: true,
        next: async () => {
          this.overflowTried = true;
          core.omit(answer);
          const { compactAutomatically } = await import("./compaction.ts");
          return (await compactAutomatically(core, "overflow", this)) ? {} : undefined;
        },
      };
    }
    if (message.stopReason === "error") {
      if (!(await this.#retries.mayTry(message))) return over;
      return {
        isSame: true,
        next: async () => {
          const isTried = await this.#retries.wait(message);
          if (!isTried) return undefined;
          core.omit(answer);
          return {};
        },
      };
    }
    if (core.turnsExhausted) return over;
    return { isSame: false, next: async () => this.#queued() ?? (await this.#remind(message)) };
  }

  async #isTooLong(message: AssistantMessage): Promise<boolean> {
    const { settings, model } = this.#core;
    if (this.overflowTried || this.compactionFailed || !settings.compaction.enabled || !model) return false;
    // An answer that was given is one, even if its provider had cut the request.
    if (message.stopReason !== "error" && message.stopReason !== "length") return false;
    const { isOverflow } = await import("../../models/retryable.ts");
    return isOverflow(message, model.model.contextWindow);
  }

  /** What was queued after the loop had looked for the last time. */
  #queued(): Next | undefined {
    const { steering, followUps } = this.#core;
    if (steering.length > 0) return { prompts: steering.take(), fromSteering: true };
    return followUps.length > 0 ? { prompts: followUps.take() } : undefined;
  }

  async #remind(message: AssistantMessage): Promise<Next | undefined> {
    const reminder = await remindOfTodos(this.#core, message.stopReason);
    return reminder && { prompts: [reminder] };
  }

  /** Something went wrong that is no answer of a model: told as an answer that failed, as the loop itself would. */
  async #fail(error: unknown): Promise<void> {
    const core = this.#core;
    const model = core.model?.model;
    if (!model) return core.notice(errorText(error));
    const message = emptyMessage(model, this.isAborted ? "aborted" : "error");
    message.errorMessage = redact(errorText(error));
    core.messages.push(message);
    core.keepMessage(message);
    core.emit({ type: "message_start", message });
    core.emit({ type: "message_end", message });
    core.emit({ type: "turn_end", message, toolResults: [] });
    core.emit({ type: "agent_end", messages: [message], willRetry: false });
  }
}
