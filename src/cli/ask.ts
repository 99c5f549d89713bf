/**
 * Questions to the user at the terminal. The terminal is left in the mode in which it was found: it gives whole lines, and Ctrl+C is
 * a signal as always. What was typed before a question was shown is no answer to it, and nothing else is shown while it stands.
 */
import type { Dialog } from "../../sandbox/permissions/prompt.ts";
import { holdOutput, isTerminal, print } from "../base/output.ts";

let last: Promise<unknown> = Promise.resolve();

/**
 * Does what puts a question and waits for its answer when no other question stands, whoever puts it: while one stands, the text of
 * another is kept back, and the user's answer would be to both.
 */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const answer = last.then(work);
  last = answer.catch(() => {});
  return answer;
}

/** A line that comes sooner than this after its question was typed before it, in ms. */
const TOO_SOON_MS = 100;

/** A dialog on the terminal; undefined unless both standard input and standard error are one. `interrupt` ends every question. */
export function terminalDialog(interrupt: AbortSignal): Dialog | undefined {
  if (!isTerminal("stdin") || !isTerminal("stderr")) return undefined;
  return {
    write: (text) => print("stderr", text),
    async readLine(signal) {
      // A question that did not wait for its turn has not been seen.
      if (isReading) return undefined;
      const release = holdOutput();
      isReading = true;
      try {
        return await readLine(AbortSignal.any([signal, interrupt]));
      } finally {
        isReading = false;
        release();
      }
    },
  };
}

let isReading = false;

/** Standard input has ended (Ctrl+D): nothing more comes of it, and nobody says so a second time. */
let hasEnded = false;

async function readLine(signal: AbortSignal): Promise<string | undefined> {
  if (hasEnded) print("stderr", "(standard input has ended, so there is nobody to answer)");
  if (signal.aborted || hasEnded) return undefined;
  const { createInterface } = await import("node:readline");
  const forget = rememberListeners();
  const lines = createInterface({ input: process.stdin, terminal: false });
  let isOpen = false;
  // However long the event loop was busy meanwhile: what had been typed by then is read in the turns between.
  const open = setTimeout(() => {
    setImmediate(() =>
      setImmediate(() => {
        isOpen = true;
      }),
    );
  }, TOO_SOON_MS);
  try {
    return await new Promise((resolve) => {
      lines.on("line", (line) => {
        if (isOpen) resolve(line);
      });
      // Ctrl+D, or a terminal that is gone.
      lines.once("close", () => {
        hasEnded = true;
        resolve(undefined);
      });
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
  } finally {
    lines.removeAllListeners("close");
    clearTimeout(open);
    lines.close();
    forget();
    process.stdin.pause();
  }
}

/** Gives what takes the listeners away that standard input gets from now on: Bun's readline leaves them there. */
function rememberListeners(): () => void {
  const { stdin } = process;
  const known = ["data", "end", "error"].map((event) => ({ event, listeners: stdin.listeners(event) }));
  return () => {
    for (const { event, listeners } of known) {
      for (const listener of stdin.listeners(event)) {
        if (!listeners.includes(listener)) stdin.off(event, listener as (...args: unknown[]) => void);
      }
    }
  };
}
