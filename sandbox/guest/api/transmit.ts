/** Sends frames as JSON text. */
import type { GuestHost } from "../protocol.ts";
import { Allowance, frameText } from "./portable.ts";

/** Taken once: an extension may replace the compartment's own. */
const { stringify } = JSON;

interface ReturnFrame {
  id: string;
  result?: unknown;
  error?: string;
}

export class Transmitter {
  readonly #host: GuestHost;
  readonly #allowance: Allowance;
  #nextCall = 1;
  /** Sends what has to be known before anything else is (registrations). */
  beforeSend: () => void = () => {};
  /** Calls whose answer somebody waits for. */
  readonly #waiting = new Map<string, (frame: ReturnFrame) => void>();

  constructor(host: GuestHost) {
    this.#host = host;
    this.#allowance = new Allowance(host.maxFrameBytes);
    framesOf = host.framesOf;
  }

  /** Throws, and sends nothing, when the frame can't be sent: cyclic, a BigInt, too long, too much. */
  send(frame: Record<string, unknown>): void {
    const text = frameText(frame);
    this.beforeSend();
    this.#allowance.take(text);
    this.#host.send(text);
  }

  log(level: string, text: string): void {
    this.#host.send(stringify({ type: "log", level, text: text.slice(0, 8000) }));
  }

  /** A call of the host (wire-notes.md, feature `call`); rejects with the host's reason. Throws what `send` throws. */
  ask(method: string, params: unknown): Promise<unknown> {
    const id = `c${this.#nextCall++}`;
    this.send({ type: "call", id, method, params });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error)),
      );
    });
  }

  /** The answer to a call. */
  answer(frame: ReturnFrame): void {
    const settle = this.#waiting.get(frame.id);
    this.#waiting.delete(frame.id);
    settle?.(frame);
  }

  /** A call whose answer nobody waits for. */
  call(method: string, params: unknown): void {
    this.send({ type: "call", id: `c${this.#nextCall++}`, method, params });
  }
}

let framesOf: GuestHost["framesOf"] = () => [];

/**
 * The same with the place where it was made, `TypeError: x is not a function (at xdev-bundle:3:7)`: for the author. The host puts
 * the author's file in the place of the bundle.
 */
export function describeErrorAndPlace(error: unknown): string {
  const [place] = framesOf(error);
  return place === undefined ? describeError(error) : `${describeError(error)} (at ${place})`;
}

/** `TypeError: x is not a function`, of whatever was thrown; never throws. */
export function describeError(error: unknown): string {
  try {
    if (typeof error === "object" && error !== null && "message" in error) {
      const { name, message } = error as { name?: unknown; message: unknown };
      return typeof name === "string" && name !== "" && name !== "Error"
        ? `${name}: ${message}`
        : String(message);
    }
    return `threw ${String(error)}`;
  } catch {
    return "threw something that cannot be described";
  }
}
