/**
 * The extension host: runs guests for the agent and carries what they say. Trusted only until a guest breaks out of its
 * compartment, so it decides nothing: no permission, no limit of the protocol, no policy. What it has of the system is
 * its standard input and output. The agent's end is client.ts.
 */
import type { GuestWorker } from "../../src/platform/index.ts";
import type { BootMessage, CallReturn, GuestMessage } from "../guest/protocol.ts";
import { MemoryWatch } from "./memory.ts";
import { encodeRecord, KIND, partText, RecordReader, type WireRecord } from "./wire.ts";

export interface HostIo {
  startGuest(): Promise<GuestWorker>;
  /** Resolves when the agent, or the pipe to it, has taken it. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the process. */
  exit(): never;
}

/** Records of the agent, which this process trusts: no reason to refuse a long one. */
const MAX_RECORD_BYTES = 2 ** 31;

/** Gives what takes the agent's bytes. When there are no more, the agent is gone: the caller ends the process. */
export function serve(io: HostIo): (chunk: Uint8Array) => void {
  const watch = new MemoryWatch();
  const guests = new Map<number, Promise<GuestWorker | undefined>>();

  const send = async (
    extension: number,
    kind: number,
    number: number,
    parts: readonly (string | Uint8Array)[],
  ): Promise<void> => {
    // A reader that went away is an agent that went away.
    await io.write(encodeRecord(extension, kind, number, parts)).catch(() => io.exit());
  };
  const over = (extension: number, reason: string): void => {
    if (guests.delete(extension)) void send(extension, KIND.exit, 0, [reason]);
  };

  const relay = (extension: number, message: GuestMessage): Promise<void> | undefined => {
    if (!guests.has(extension)) return undefined;
    if (message[0] === "call") {
      const [, number, operation, text, bytes] = message;
      return send(extension, KIND.call, number, bytes ? [operation, text, bytes] : [operation, text]);
    }
    if (message[0] === "pong") return undefined;
    const kind = message[0] === "frame" ? KIND.frame : message[0] === "fatal" ? KIND.fatal : KIND.log;
    return send(extension, kind, 0, [message[1]]);
  };

  const start = async (extension: number, maxHeapBytes: number): Promise<GuestWorker | undefined> => {
    try {
      const guest = watch.guard(await io.startGuest(), { maxHeapBytes });
      guest.onMessage((message) => relay(extension, message as GuestMessage));
      guest.onExit((reason) => over(extension, reason));
      return guest;
    } catch (error) {
      over(extension, `could not be started: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };

  const end = async (extension: number): Promise<void> => {
    const guest = await guests.get(extension);
    if (!guest) return;
    await guest.terminate();
    // Not before it is true: the agent ends the whole process otherwise.
    await guest.closed;
    over(extension, "was ended");
  };

  const receive = ({ extension, kind, number, parts }: WireRecord): void => {
    if (kind === KIND.start) return void guests.set(extension, start(extension, number * 1024));
    if (kind === KIND.end) return void end(extension);
    const text = partText(parts[0]!);
    const bytes = parts[1] && new Uint8Array(parts[1]);
    void guests.get(extension)?.then((guest) => {
      if (!guest) return;
      if (kind === KIND.boot) guest.post(JSON.parse(text) as BootMessage);
      else if (kind === KIND.deliver) guest.post(text);
      else {
        const reply: CallReturn = kind === KIND.refused ? { error: text } : { text, bytes };
        guest.post(["return", number, reply]);
      }
    });
  };

  const reader = new RecordReader(
    () => MAX_RECORD_BYTES,
    receive,
    () => io.exit(),
  );
  return (chunk) => reader.push(chunk);
}
