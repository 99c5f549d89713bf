/**
 * What may leave the sandbox: what the host would not take is refused here, at the call that brings it, with a text that says
 * why. The host looks at everything again, and believes nothing of this.
 */
import { MAX_DEPTH, measure } from "../../../src/base/data-size.ts";

/** Taken once: an extension may replace the globals. */
const { stringify } = JSON;
const { now } = Date;

/** A shorter text is neither too deep nor too much. */
const HARMLESS_CHARS = 2 * MAX_DEPTH;

/** A frame as JSON text. Throws a TypeError for what JSON can't hold, and a RangeError for what is too much for the host. */
export function frameText(frame: Record<string, unknown>): string {
  let text: string;
  try {
    text = stringify(frame);
  } catch (error) {
    throw new TypeError(`it can't leave the sandbox: ${whyNotJson(error)}`);
  }
  if (text.length > HARMLESS_CHARS) {
    const problem = measure(frame);
    if (problem !== undefined) throw new RangeError(`it can't leave the sandbox: it ${problem}`);
  }
  return text;
}

function whyNotJson(error: unknown): string {
  const text = String((error as { message?: unknown } | undefined)?.message ?? error);
  if (/circular|cyclic/i.test(text)) return "it holds itself";
  if (/bigint/i.test(text)) return "it holds a BigInt, which JSON has not";
  if (/call stack|recursion/i.test(text)) return "it is nested too deep";
  return text;
}

/** How much may be sent: one frame, and all of a second together, with a burst of two seconds' worth. The host ends who sends more. */
export class Allowance {
  readonly #perSecond: number;
  #left: number;
  #at = now();

  /** In bytes of UTF-8. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    // The host's clock is not this one.
    this.#left = 1.9 * perSecond;
  }

  /** Throws a RangeError if that is too much. */
  take(text: string): void {
    const bytes = bytesOf(text);
    const most = this.#perSecond;
    if (bytes > most) throw new RangeError(`it can't leave the sandbox: it is longer than ${most} bytes`);
    const time = now();
    const left = Math.min(this.#left + (Math.max(0, time - this.#at) * most) / 1000, 1.9 * most);
    this.#at = time;
    if (left < bytes) {
      this.#left = left;
      throw new RangeError(
        `it can't leave the sandbox: that is more than ${most} bytes in a second (extensionHost.maxFrameBytes)`,
      );
    }
    this.#left = left - bytes;
  }
}

function bytesOf(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) bytes += code > 0x7ff ? 2 : 1;
  }
  return bytes;
}
