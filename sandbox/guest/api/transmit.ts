import type { GuestHost } from "../protocol.ts";

/** Sends frames as JSON text. `JSON` is taken once: an extension may replace the compartment's own. */
const { stringify } = JSON;

interface ReturnFrame {
  id: string;
  result?: unknown;
  error?: string;
}

export class Transmitter {
  readonly #host: GuestHost;
  #nextCall = 1;
  /** Calls whose answer somebody waits for. */
  readonly #waiting = new Map<string, (frame: ReturnFrame) => void>();

  constructor(host: GuestHost) {
    this.#host = host;
    framesOf = host.framesOf;
  }

  /** Throws when the frame can't be sent: cyclic, a BigInt, too long. */
  send(frame: Record<string, unknown>): void {
    this.#host.send(stringify(frame));
  }

  log(level: string, text: string): void {
    this.#host.send(stringify({ type: "log", level, text: text.slice(0, 8000) }));
  }

  /** A call of the host (wire-notes.md, feature `call`); rejects with the host's reason. */
  ask(method: string, params: unknown): Promise<unknown> {
    const id = `c${this.#nextCall++}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error)),
      );
      this.send({ type: "call", id, method, params });
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
