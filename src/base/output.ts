/**
 * Standard output and standard error. The runtime's streams cost a start 3 ms and 6 MB when they are first touched, so a
 * text is written to the descriptor itself until something needs a stream: output that goes on for long, or a reader
 * that does not keep up.
 */
import { fstatSync, writeSync } from "node:fs";
import { systemCode } from "./errors.ts";

export type OutputName = "stdout" | "stderr";

const descriptors = { stdout: 1, stderr: 2 } as const;
const streams: Partial<Record<OutputName, NodeJS.WriteStream>> = {};
/** Writes through a stream that the system has neither taken nor refused, and who waits for them. */
let unwritten = 0;
const flushing: (() => void)[] = [];
let outputLost = (_code: string | undefined): void => {};

/**
 * Whom to tell that standard output takes no more, with the system's code: `EPIPE` if nobody reads it any longer
 * (`xdev … | head`), `ENOSPC` if the disk is full. It may be told more than once.
 */
export function onOutputLost(listener: (code: string | undefined) => void): void {
  outputLost = listener;
}

export function isTerminal(name: OutputName | "stdin"): boolean {
  const descriptor = name === "stdin" ? 0 : descriptors[name];
  try {
    // What knows terminals costs a start 2 ms: it is not loaded for a pipe or a file.
    if (!fstatSync(descriptor).isCharacterDevice()) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule("node:tty").isatty(descriptor);
}

/** What waits for the end of a question. */
let held: Held[] | undefined;

interface Held {
  readonly name: OutputName;
  readonly text: string | Uint8Array;
}

/**
 * Keeps back whatever is written to a terminal, until the function that it gives is called: while the user decides, nothing may push
 * the question away, or look like another one. At an exit it is written.
 */
export function holdOutput(): () => void {
  if (held) return () => {};
  const waiting: Held[] = [];
  held = waiting;
  const release = (): void => {
    if (held !== waiting) return;
    held = undefined;
    process.off("exit", release);
    for (const { name, text } of waiting) {
      if (typeof text === "string") print(name, text);
      else printLong(name, text);
    }
  };
  process.on("exit", release);
  return release;
}

function isHeld(name: OutputName, text: string | Uint8Array): boolean {
  if (!held || !isTerminal(name)) return false;
  held.push({ name, text });
  return true;
}

/** Writes a text in the order of the calls. Never throws; standard error that nobody reads is nobody's loss. */
export function print(name: OutputName, text: string): void {
  if (isHeld(name, text)) return;
  if (streams[name]) return printLong(name, text);
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptors[name], bytes, written);
  } catch (error) {
    if (systemCode(error) === "EAGAIN") printLong(name, bytes.subarray(written));
    else if (name === "stdout") outputLost(systemCode(error));
  }
}

/**
 * Writes through the stream, for output that goes on for long: it does not keep the event loop waiting for its reader.
 * In the order of the calls, those of `print` included. `onWritten` is called when the system has taken the text or refused it.
 */
export function printLong(name: OutputName, text: string | Uint8Array, onWritten?: () => void): void {
  if (isHeld(name, text)) return onWritten?.();
  unwritten++;
  outputStream(name).write(text, (error) => {
    if (error && name === "stdout") outputLost(systemCode(error));
    onWritten?.();
    if (--unwritten === 0) for (const resolve of flushing.splice(0)) resolve();
  });
}

/** The stream, for what it knows of the terminal. */
export function outputStream(name: OutputName): NodeJS.WriteStream {
  const known = streams[name];
  if (known) return known;
  const stream = process[name];
  // Without a listener an error would end the program; `printLong` hears of it.
  stream.on("error", () => {});
  streams[name] = stream;
  return stream;
}

/** How long a reader that does not read may hold up a program that was told to end, in ms. */
const INTERRUPTED_FLUSH_MS = 500;

/**
 * Resolves when the system has taken or refused everything that was written; once `interrupt` is aborted, soon in any
 * case. Each write is counted: an empty one put behind them is answered at once under Bun, whatever waits before it.
 */
export async function flushOutput(interrupt: AbortSignal): Promise<void> {
  if (unwritten === 0) return;
  await new Promise<void>((resolve) => {
    flushing.push(resolve);
    const giveUp = () => void setTimeout(resolve, INTERRUPTED_FLUSH_MS);
    if (interrupt.aborted) giveUp();
    else interrupt.addEventListener("abort", giveUp, { once: true });
  });
}
