/**
 * `--model replay:FILE`: a model that says what a file says, for testing an extension or a script without a model.
 *
 * FILE (relative to the working directory) is YAML or JSON: a list of turns, or `{turns: [...]}`. Each request of the run
 * takes the next turn:
 *
 *     - text: I'll look.                # streamed in several parts
 *       toolCalls: [{ name: bash, arguments: { command: ls } }]
 *     - expect: { toolName: bash, isError: false, contains: README }
 *       thinking: That's all I need.
 *       text: Done.
 *     - delayMs: 100
 *       error: provider "x" answered 500 Internal Server Error
 *
 * `expect` is checked on the last message before the turn, system messages aside; a string is short for `{contains: …}`. A
 * failed expectation and a request beyond the last turn end the run with an error that says what was expected and what came.
 */
import { readFile } from "node:fs/promises";
import type { StreamFn } from "@earendil-works/pi-agent-core";
import type {
  Api,
  AssistantMessage,
  AssistantMessageEventStream,
  Message,
  Model,
} from "@earendil-works/pi-ai";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { ellipsis } from "../base/text.ts";
import { sleep } from "../base/time.ts";
import type { ResolvedModel } from "./index.ts";
import type { Expectation, Turn } from "./replay-schema.ts";
import { emptyMessage, loadEventStream } from "./stream.ts";

/** Characters (code points) in one streamed part. */
const PART = /[\s\S]{1,24}/gu;

/** Reads a replay file. Throws XdevError `bad-replay-file`, with the line and the path in the file. */
export async function resolveReplay(file: string, cwd: string): Promise<ResolvedModel> {
  if (!file)
    throw new XdevError("bad-replay-file", "replay: needs a file", { hint: "Write --model replay:FILE." });
  const path = resolvePath(file, cwd);
  const turns = await readTurns(path);
  const { model, stream, played } = replayModel(file, turns);
  const leftOver = () => {
    const left = turns.length - played();
    return left > 0 ? `replay ${file}: ${left} of ${turns.length} turns were not played` : undefined;
  };
  return { model, stream, preload: async () => {}, leftOver };
}

/** A model that plays `turns`, one a request; more may be added to them. `played`: how many requests there were. */
export function replayModel(
  name: string,
  turns: readonly Turn[],
): { model: Model<Api>; stream: StreamFn; played: () => number } {
  const model: Model<Api> = {
    id: name,
    name: `replay of ${name}`,
    api: "replay",
    provider: "replay",
    baseUrl: "",
    reasoning: false,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 16_384,
  };
  return { model, ...replayStream(name, turns) };
}

async function readTurns(path: string): Promise<Turn[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const reason = systemCode(error) === "ENOENT" ? "does not exist" : `can't be read: ${errorText(error)}`;
    throw new XdevError("bad-replay-file", `the replay file ${path} ${reason}`, { cause: error });
  }
  const [{ replaySchema }, { parseFile }] = await Promise.all([
    import("./replay-schema.ts"),
    import("../config/parse.ts"),
  ]);
  const { value } = await parseFile(text, replaySchema, path, "bad-replay-file");
  return Array.isArray(value) ? value : value.turns;
}

/** A stream function that plays `turns`, one a call, and how many it has played. */
export function replayStream(
  name: string,
  turns: readonly Turn[],
): { stream: StreamFn; played: () => number } {
  let next = 0;
  const stream: StreamFn = async (model, context, options = {}) => {
    const { AssistantMessageEventStream: Stream } = await loadEventStream();
    const stream = new Stream();
    const index = next++;
    const turn = turns[index];
    const message = emptyMessage(model, "pending");
    const last = context.messages.findLast((one) => one.role !== "system");
    const size = JSON.stringify(context.messages).length;
    message.usage.input = message.usage.totalTokens = tokens(size);
    if (!turn) {
      const count = turns.length === 1 ? "1 turn" : `${turns.length} turns`;
      finish(
        stream,
        message,
        undefined,
        `replay ${name}: the replay has ${count}, the run asked for one more`,
      );
      return stream;
    }
    play(stream, message, turn, index, last, options.signal)
      .then((wrong) => finish(stream, message, turn, wrong && `replay ${name}, ${wrong}`))
      .catch((error: unknown) => {
        const aborted = options.signal?.aborted === true;
        finish(stream, message, turn, aborted ? "aborted" : errorText(error), aborted);
      });
    return stream;
  };
  return { stream, played: () => next };
}

/** Streams a turn; resolves with what is wrong with the message before it, if anything. Rejects when it is aborted. */
async function play(
  stream: AssistantMessageEventStream,
  message: AssistantMessage,
  turn: Turn,
  index: number,
  last: Message | undefined,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const wrong = turn.expect === undefined ? undefined : mismatch(turn.expect, last);
  if (wrong) return `turn ${index + 1}: ${wrong}`;
  if (turn.delayMs > 0) await sleep(turn.delayMs, signal);
  stream.push({ type: "start", partial: message });
  if (turn.thinking) await playText("thinking", turn.thinking, stream, message, signal);
  if (turn.text) await playText("text", turn.text, stream, message, signal);
  for (const [position, { id, name, arguments: args }] of (turn.toolCalls ?? []).entries()) {
    signal?.throwIfAborted();
    const contentIndex = message.content.length;
    const toolCall = {
      type: "toolCall" as const,
      id: id ?? `replay_${index + 1}_${position + 1}`,
      name,
      arguments: args,
    };
    message.content.push(toolCall);
    stream.push({ type: "toolcall_start", contentIndex, partial: message });
    for (const delta of JSON.stringify(args).match(PART) ?? []) {
      count(message, delta);
      stream.push({ type: "toolcall_delta", contentIndex, delta, partial: message });
    }
    stream.push({ type: "toolcall_end", contentIndex, toolCall, partial: message });
  }
  signal?.throwIfAborted();
  return undefined;
}

async function playText(
  kind: "text" | "thinking",
  text: string,
  stream: AssistantMessageEventStream,
  message: AssistantMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const contentIndex = message.content.length;
  const block = kind === "text" ? { type: kind, text: "" } : { type: kind, thinking: "" };
  message.content.push(block);
  stream.push({ type: `${kind}_start`, contentIndex, partial: message });
  for (const delta of text.match(PART) ?? []) {
    signal?.throwIfAborted();
    if (block.type === "text") block.text += delta;
    else block.thinking += delta;
    count(message, delta);
    stream.push({ type: `${kind}_delta`, contentIndex, delta, partial: message });
    // Each part in a turn of its own, as from a server: a consumer that draws or aborts gets to run.
    await Promise.resolve();
  }
  stream.push({ type: `${kind}_end`, contentIndex, content: text, partial: message });
}

function finish(
  stream: AssistantMessageEventStream,
  message: AssistantMessage,
  turn: Turn | undefined,
  failed: string | undefined,
  aborted = false,
): void {
  const error = failed ?? turn?.error;
  if (error === undefined) {
    const reason = turn?.stopReason ?? (turn?.toolCalls?.length ? "toolUse" : "stop");
    message.stopReason = reason;
    stream.push({ type: "done", reason, message });
  } else {
    const reason = aborted ? "aborted" : "error";
    message.stopReason = reason;
    message.errorMessage = error;
    stream.push({ type: "error", reason, error: message });
  }
  stream.end();
}

/** What is wrong with a message, as `expected …, got …`, or undefined. */
export function mismatch(expect: string | Expectation, message: Message | undefined): string | undefined {
  const wanted = typeof expect === "string" ? { contains: expect } : expect;
  const text = message ? textOf(message) : "";
  const tool = message?.role === "toolResult" ? message : undefined;
  const parts = wanted.contains === undefined ? [] : [wanted.contains].flat();
  const failed: string[] = [];
  if (wanted.role !== undefined && message?.role !== wanted.role) failed.push(`role ${wanted.role}`);
  if (wanted.toolName !== undefined && tool?.toolName !== wanted.toolName)
    failed.push(`a result of ${wanted.toolName}`);
  if (wanted.isError !== undefined && tool?.isError !== wanted.isError) {
    failed.push(wanted.isError ? "a failed tool call" : "a successful tool call");
  }
  for (const part of parts) if (!text.includes(part)) failed.push(`text that contains ${quote(part)}`);
  if (wanted.matches !== undefined && !new RegExp(wanted.matches, "u").test(text)) {
    failed.push(`text that matches /${wanted.matches}/u`);
  }
  if (failed.length === 0) return undefined;
  const kind = tool
    ? `a ${tool.isError ? "failed" : "successful"} result of ${tool.toolName}`
    : message?.role;
  return `expected ${failed.join(" and ")}, got ${message ? `${kind}: ${quote(text)}` : "no message"}`;
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function quote(text: string): string {
  return JSON.stringify(ellipsis(text, 400));
}

/** About four characters a token: enough for what counts tokens, without a tokenizer. */
function tokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4));
}

function count(message: AssistantMessage, delta: string): void {
  const added = tokens(delta.length);
  message.usage.output += added;
  message.usage.totalTokens += added;
}
