import { fstatSync } from "node:fs";
import { XdevError } from "../base/errors.ts";
import { log } from "../base/log.ts";

/** The longest input that joins a prompt, in bytes. */
const LIMIT = 10 * 1024 * 1024;
/** How long an input that says nothing is waited for when there is a prompt without it, in ms. */
const SILENCE_MS = 3000;

/**
 * Standard input, if something is piped in: all of it, as text; "" for a terminal or none. With `optional`, an input
 * that sends nothing for 3 s is left alone: programs that start us often leave theirs open. Throws `XdevError`
 * with code `usage` when it is longer than 10 MB.
 */
export async function readPipedInput(optional: boolean, interrupt: AbortSignal): Promise<string> {
  if (!isPiped()) return "";
  const chunks: Buffer[] = [];
  let length = 0;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const stop = () => process.stdin.destroy();
  interrupt.addEventListener("abort", stop, { once: true });
  if (optional) {
    silent = setTimeout(() => {
      log.warn(`nothing came on standard input for ${SILENCE_MS / 1000} s; going on without it`);
      stop();
    }, SILENCE_MS);
  }
  try {
    for await (const chunk of process.stdin) {
      clearTimeout(silent);
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > LIMIT) throw new XdevError("usage", "standard input is longer than 10 MB");
    }
  } catch (error) {
    if (error instanceof XdevError) throw error;
    // Destroyed while it was read: what has come is what there is.
  } finally {
    clearTimeout(silent);
    interrupt.removeEventListener("abort", stop);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A pipe, a socket or a file; not `/dev/null`, not closed. */
function isPiped(): boolean {
  try {
    const info = fstatSync(0);
    return info.isFIFO() || info.isFile() || info.isSocket();
  } catch {
    return false;
  }
}
