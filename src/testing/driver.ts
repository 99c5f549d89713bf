/**
 * Plays a script in a session: it is the client of rpc mode, in the same process, and the model. A real session with the real
 * sandbox is on the other side.
 */
import { PassThrough } from "node:stream";
import type { Context } from "@earendil-works/pi-ai";
import { getCurrentSystemPrompt, getCurrentTools } from "@earendil-works/pi-ai/utils/transcript";
import type { LoadAnswer, User } from "../../sandbox/permissions/asker.ts";
import { permissionText } from "../../sandbox/permissions/describe.ts";
import { difference, permissionsOf } from "../../sandbox/permissions/permissions.ts";
import type { AgentSession } from "../agent/agent-session-types.ts";
import { errorText } from "../base/errors.ts";
import { stripControls } from "../base/text.ts";
import { sleep, withTimeout } from "../base/time.ts";
import type { ExtensionManager } from "../extensions/manager.ts";
import type { ResolvedModel } from "../models/index.ts";
import { replayModel } from "../models/replay.ts";
import type { Turn } from "../models/replay-schema.ts";
import type { Client, Mode } from "../modes/mode.ts";
import { createRpcMode } from "../modes/rpc/mode.ts";
import { reaching } from "./consent.ts";
import { DRAWN, isDialog, questionOf, REQUEST, type Rec, textOf, unmet } from "./expectation.ts";
import type { Answer, Step, TestScript } from "./script.ts";

/** How a step went. `line` is in the script. */
export interface StepReport {
  line: number;
  title: string;
  failures: Failure[];
}

export interface Failure {
  line: number;
  message: string;
}

export interface DriverOptions {
  script: TestScript;
  /** The line in the script of a path in it. */
  lineOf: (path: readonly PropertyKey[]) => number;
  cwd: string;
  /** Whether what the extension declares is granted when it is loaded: all of it, or what stays within the test's own folders. */
  grantsDeclared: "all" | "inside" | undefined;
  interrupt: AbortSignal;
}

/** How long after a step's end what it expects may still come, in ms: what an extension says last takes a moment. */
const LATE_MS = 1000;
const LOOK_MS = 10;
/** A test waits longer for a drawing than a terminal would. */
const DRAW_MS = 5000;
/** Begins what our model says when a script is wrong about it. */
const REPLAY_NAME = "of the script";

export class ScriptDriver {
  readonly mode: Mode & { client: Client };
  readonly model: ResolvedModel;
  readonly steps: StepReport[] = [];
  /** What the user was told while the extension loaded, and what it failed at. */
  readonly diagnostics: string[] = [];
  /** Who is asked for drawings: set when it has loaded. */
  manager: ExtensionManager | undefined;
  readonly #options: DriverOptions;
  readonly #input = new PassThrough();
  readonly #records: Rec[] = [];
  readonly #played: () => number;
  readonly #turns: Turn[] = [];
  /** Where each turn stands in the script. */
  readonly #turnLines: number[] = [];
  readonly #responses = new Map<string, (record: Rec) => void>();
  #answers: { answer: Answer; line: number }[] = [];
  /** Of the step that is played. */
  #failures: Failure[] = [];
  #stepLine = 1;
  #commands = 0;

  constructor(options: DriverOptions) {
    this.#options = options;
    const { model, stream, played } = replayModel(REPLAY_NAME, this.#turns);
    this.#played = played;
    this.model = {
      model: { ...model, id: "script", name: "the script" },
      stream: (asked, context, more) => {
        this.#take(requestRecord(context));
        return stream(asked, context, more);
      },
      preload: async () => {},
    };
    const output = {
      write: (text: string, written: () => void) => {
        this.#take(JSON.parse(text) as Rec);
        written();
      },
    };
    const rpc = createRpcMode(options.interrupt, { input: this.#input, output });
    this.mode = {
      ...rpc,
      client: {
        ...rpc.client,
        user: async () => this.#user(),
        serve: async (served) => {
          const serving = rpc.client.serve(served);
          const playing = this.#play(served.session).finally(() => this.#input.end());
          await Promise.race([serving, playing]);
          await playing;
          return serving;
        },
      },
    };
    // Questions may come while the extension loads.
    this.#prepare(0);
  }

  /** Whether every step was played and nothing failed. */
  get passed(): boolean {
    const { steps } = this.#options.script;
    return this.steps.length === steps.length && this.steps.every(({ failures }) => failures.length === 0);
  }

  async #play(session: AgentSession): Promise<void> {
    const { steps } = this.#options.script;
    let from = 0;
    // Whatever there is to play, the session has begun.
    await this.#send({ type: "get_state" });
    for (const [index, step] of steps.entries()) {
      if (this.#options.interrupt.aborted) return;
      if (index > 0) this.#prepare(index);
      const report: StepReport = { line: this.#stepLine, title: titleOf(step), failures: this.#failures };
      this.steps.push(report);
      const played = this.#step(session, step, index, from);
      const isOver = await withTimeout(played, step.limitMs, "the step").then(
        () => true,
        (error: unknown) => {
          this.#fail(this.#stepLine, errorText(error));
          return false;
        },
      );
      from = this.#records.length;
      // What comes after it would be about something else.
      if (!isOver) return void session.abort().catch(() => {});
    }
  }

  /** Lays out what the model and the user say in a step. */
  #prepare(index: number): void {
    const step = this.#options.script.steps[index];
    const at = (...path: PropertyKey[]) => this.#options.lineOf(["steps", index, ...path]);
    this.#stepLine = step ? at() : 1;
    this.#failures = [];
    this.#answers = (step?.answers ?? []).map((answer, one) => ({ answer, line: at("answers", one) }));
    // Requests that had no turn are counted, too.
    while (this.#turns.length < this.#played()) this.#addTurn({ delayMs: 0 }, this.#stepLine);
    for (const [one, turn] of (step?.model ?? []).entries()) this.#addTurn(turn, at("model", one));
  }

  #addTurn(turn: Turn, line: number): void {
    this.#turns.push(turn);
    this.#turnLines.push(line);
  }

  async #step(session: AgentSession, step: Step, index: number, from: number): Promise<void> {
    const { prompt, rpc, draw, expect = [] } = step;
    if (draw) await this.#draw(draw);
    const command =
      prompt !== undefined ? { type: "prompt", message: prompt } : (rpc ?? { type: "get_state" });
    const response = await this.#send(command);
    const isAbout = expect.some((one) => "response" in one || ("not" in one && "response" in one.not!));
    if (response.success === false && !isAbout) this.#fail(this.#stepLine, String(response.error));
    const isOpen = await this.#expected(session, step, from, response);
    for (const { at, message } of isOpen) {
      this.#fail(this.#options.lineOf(["steps", index, "expect", at]), message);
    }
    for (const { line } of this.#answers) this.#fail(line, "the user was not asked that much");
    if (!step.wait) return;
    const left = this.#turns.length - this.#played();
    if (left > 0) {
      const [line = this.#stepLine] = this.#turnLines.splice(-left);
      this.#turns.splice(-left);
      this.#fail(
        line,
        `the model was not asked for this: ${left === 1 ? "1 turn is" : `${left} turns are`} left`,
      );
    }
  }

  /**
   * What is not met in the end. A run may begin when another has ended, with what an extension says then: so what is still to come is
   * waited for. What must not happen is looked at when all else is there.
   */
  async #expected(
    session: AgentSession,
    { expect = [], wait }: Step,
    from: number,
    response: Rec,
  ): Promise<{ at: number; message: string }[]> {
    let until: number | undefined;
    for (;;) {
      if (wait) await session.waitForIdle();
      until ??= performance.now() + LATE_MS;
      const responses = this.#records
        .slice(from)
        .filter((one) => one.type !== "response" || one === response);
      const happened = { records: responses, cwd: this.#options.cwd };
      const open: { at: number; message: string; isDenial: boolean }[] = [];
      for (const [at, one] of expect.entries()) {
        const message = await unmet(one, happened);
        if (message !== undefined) open.push({ at, message, isDenial: "not" in one });
      }
      const isWhole =
        open.every(({ isDenial }) => isDenial) && (!wait || this.#turns.length <= this.#played());
      if (isWhole || performance.now() > until) return open;
      await sleep(LOOK_MS, this.#options.interrupt);
    }
  }

  async #draw({ expanded, isPartial, ...drawing }: NonNullable<Step["draw"]>): Promise<void> {
    const options = { expanded, isPartial };
    const lines = await this.manager?.offers.draw({ ...drawing, options }, DRAW_MS);
    if (lines) this.#take({ type: DRAWN, text: stripControls(lines.join("\n")) });
    else this.#fail(this.#stepLine, `the extension drew nothing of ${drawing.what} ${drawing.name}`);
  }

  #send(command: Record<string, unknown>): Promise<Rec> {
    const id = `step-${++this.#commands}`;
    return new Promise((resolve) => {
      this.#responses.set(id, resolve);
      this.#input.write(`${JSON.stringify({ ...command, id })}\n`);
    });
  }

  #take(record: Rec): void {
    this.#records.push(record);
    switch (record.type) {
      case "response":
        this.#responses.get(String(record.id))?.(record);
        break;
      case "extension_ui_request":
        if (isDialog(record)) this.#answer(record);
        break;
      case "notice":
        this.diagnostics.push(String(record.text));
        break;
      case "extension_error":
        this.diagnostics.push(`a handler of ${String(record.event)} failed: ${String(record.error)}`);
        break;
      case "message_end":
        this.#checkModel(record.message as Record<string, unknown>);
        break;
    }
  }

  /** A turn of the script that did not find what it expects, or was missing. */
  #checkModel({ role, errorMessage }: Record<string, unknown>): void {
    if (role !== "assistant" || typeof errorMessage !== "string") return;
    const [, turn, wrong] =
      new RegExp(`^replay ${REPLAY_NAME}, turn (\\d+): (.*)$`, "s").exec(errorMessage) ?? [];
    if (wrong !== undefined) this.#fail(this.#turnLines[Number(turn) - 1] ?? this.#stepLine, wrong);
    else if (errorMessage.startsWith(`replay ${REPLAY_NAME}:`)) {
      this.#fail(this.#stepLine, "the model was asked once more than the step has turns for it");
    }
  }

  #answer(record: Rec): void {
    const question = questionOf(record);
    const next = this.#answers.shift();
    const reply = (members: Record<string, unknown>) =>
      this.#input.write(`${JSON.stringify({ type: "extension_ui_response", id: record.id, ...members })}\n`);
    if (!next) {
      this.#fail(
        this.#stepLine,
        `the user was asked ${JSON.stringify(question)}, and the step has no answer`,
      );
      return void reply({ cancelled: true });
    }
    const { answer, line } = next;
    const isPlain = typeof answer !== "object" || answer === null;
    if (!isPlain && answer.title !== undefined && !question.includes(answer.title)) {
      this.#fail(line, `the user was asked ${JSON.stringify(question)}`);
    }
    if (!isPlain && answer.wait) return;
    const given = (isPlain ? answer : answer.answer) ?? null;
    if (given === null) return void reply({ cancelled: true });
    const isConfirmation = record.method === "confirm";
    const options = record.options as string[] | undefined;
    if ((typeof given === "boolean") !== isConfirmation || (options && !options.includes(String(given)))) {
      const fits = isConfirmation
        ? "true or false"
        : options
          ? `one of ${JSON.stringify(options)}`
          : "a text";
      this.#fail(
        line,
        `${JSON.stringify(given)} does not answer ${JSON.stringify(question)}: it takes ${fits}`,
      );
      return void reply({ cancelled: true });
    }
    reply(typeof given === "boolean" ? { confirmed: given } : { value: given });
  }

  #fail(line: number, message: string): void {
    this.#failures.push({ line, message });
  }

  /** Who is asked for permissions: the script says what the extension may do, all else is denied. */
  #user(): User {
    return {
      ask: async () => "deny",
      askAtLoad: async ({ toAsk }): Promise<LoadAnswer | undefined> => {
        const { grantsDeclared } = this.#options;
        if (grantsDeclared === undefined) return undefined;
        const outside = grantsDeclared === "all" ? [] : reaching(toAsk);
        for (const one of outside) {
          this.diagnostics.push(
            `not granted, since the script was not named with --script: ${permissionText(one)}`,
          );
        }
        return { granted: difference(toAsk, permissionsOf(outside)), lasts: "session" };
      },
    };
  }
}

function titleOf({ prompt, rpc, draw }: Step): string {
  if (draw) return `draw ${draw.what} ${draw.name}`;
  if (prompt !== undefined) return `prompt ${JSON.stringify(prompt)}`;
  return rpc ? `rpc ${rpc.type}` : "what has happened";
}

/** The prompt and the tools stand in the system messages of a request. */
function requestRecord({ systemPrompt = "", messages, tools = [] }: Context): Rec {
  const transcript = messages as Parameters<typeof getCurrentTools>[0];
  return {
    type: REQUEST,
    systemPrompt: systemPrompt + getCurrentSystemPrompt(transcript),
    tools: [...tools, ...getCurrentTools(transcript)].map(({ name }) => name),
    text: messages.flatMap(({ role, content }) => (role === "system" ? [] : [textOf(content)])).join("\n"),
  };
}
