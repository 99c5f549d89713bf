/**
 * What a scripted peer does. One script runs on both transports: `peer.py` as a process, `guest.ts` in the place of a
 * worker. In what is sent, `"$id"` stands for the current event's id, `"$number"` for the same as a JSON number,
 * `"$callId"` and `"$arguments"` for members of its payload.
 */
export interface Script {
  /** The payload of its `capabilities` frame, which it sends when it gets `hello`; null for none. */
  capabilities?: Record<string, unknown> | null;
  /** Before anything is read. */
  start?: Step[];
  /** What it does at the first, second, … event of a name; the last entry serves all that follow. Default: `allow`. */
  on?: Record<string, Step[][]>;
  /** When its input ends. */
  end?: Step[];
}

export type Step =
  /** A frame as a line; `size` pads it with an unknown member to so many bytes. */
  | { send: unknown; size?: number; lineEnd?: string }
  /** A text that need be no frame; nothing is added. On the worker transport it is one message. */
  | { text: string }
  | { sleepMs: number }
  | { exit: number }
  /** Does nothing any more, reads nothing. */
  | { hang: true }
  | { log: string }
  /** Waits for the host's next frame of a type; events that come before are handled later. */
  | { await: "return" | "cancel" }
  /** Goes on when so many events of this name are there, and then does the rest for each, in another order. */
  | { hold: number }
  | ProcessStep;

/** What only a process can do. */
export type ProcessStep =
  /** Bytes as they are, `chunk` at a time. */
  | { base64: string; chunk?: number }
  | { signal: "SIGKILL" | "SIGTERM" | "SIGSEGV" }
  | { ignore: "SIGTERM" }
  | { close: "stdout" }
  /** Leaves a process that holds stdout open, in its group or in a session of its own; logs its pid. */
  | { fork: "group" | "session" }
  | { waitFor: string };

export const ALLOW = { type: "response", id: "$id", allow: true };
export const POLICY = { events: ["tool_call"] };

/** A policy whose first answer is these steps, and who allows what follows. */
export function policy(first: Step[], capabilities: Record<string, unknown> = {}): Script {
  return {
    capabilities: { ...POLICY, ...capabilities },
    on: { tool_call: [first, [{ send: ALLOW }]] },
  };
}

/** A policy that always does these steps. */
export function always(steps: Step[], capabilities: Record<string, unknown> = {}): Script {
  return { capabilities: { ...POLICY, ...capabilities }, on: { tool_call: [steps] } };
}
