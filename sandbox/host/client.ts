/**
 * The agent's end of one extension host: a child process that runs the workers of one or more extensions, and has no right of
 * its own. It is taken for hostile, since code that broke out of a compartment is in control of it. What must hold:
 *
 * - A record counts only for an extension that was started in this host and has not ended. Which rights an extension has is decided by the
 *   channel that it belongs to, so that a host which lies about a number can at most speak for another extension that it runs.
 * - Nothing that it sends, or refuses to read, takes more than a bounded amount of the agent's memory.
 * - Its end, for whatever reason, is the end of every extension in it, and each is told.
 */
import { readFileSync } from "node:fs";
import { log } from "../../src/base/log.ts";
import { killGroup } from "../../src/base/process.ts";
import { oneLine } from "../../src/base/text.ts";
import type { GuestEnd, GuestWorker } from "../../src/platform/index.ts";
import type { Program, StartProgram } from "../../src/platform/program.ts";
import {
  type BootMessage,
  type GuestMessage,
  type HostMessage,
  MAX_CALL_BYTES,
  MAX_CALL_CHARS,
} from "../guest/protocol.ts";
import { encodeRecord, KIND, partText, RecordReader, type WireRecord } from "./wire.ts";

/** How an extension host is started: `Platform.hostProgram`. */
export interface HostProgram {
  file: string;
  args: readonly string[];
  /** What it reads before records. */
  input?: Uint8Array;
  /** What starts it, where the platform's usual way will not do. */
  start?: StartProgram;
}

export interface HostOptions {
  program: HostProgram;
  start: StartProgram;
  /** The longest frame that it may send. */
  maxRecordBytes: number;
  /** One guest only: its end is the host's, and needs no confirmation. */
  isAlone: boolean;
  /**
   * The host is over before its guests were: told before them. `culprit` is the number of the guest that is known to be the reason.
   * What it gives is what each guest's owner is told, besides the reason.
   */
  onCrash(reason: string, culprit: number | undefined): (guest: number) => GuestEnd;
}

/** How long a host has to end a worker, in ms: a native regular expression can't be interrupted, a host can. */
const END_MS = 500;
/** What waits to be read by the host, in bytes. */
const MAX_UNREAD_BYTES = 128 * 1024 * 1024;
/** The same in records: a short one takes more than its bytes. */
const MAX_UNREAD_RECORDS = 20_000;
/**
 * What the process may have besides twice what its guests may, in bytes: it ends a guest that has too much by itself (memory.ts), and
 * when it does not, it is ended. Looked at this often, in ms; twice in a row is too much.
 */
const RESIDENT_BYTES = 512 * 1024 * 1024;
const LOOK_MS = 500;
/** How long the agent looks at records without a break, in ms. */
const SLICE_MS = 2;
/** As much is read before it looks at the clock again: a piece may hold several hundred records. */
const PIECE_BYTES = 8192;

interface Guest {
  onMessage: (message: GuestMessage) => void;
  onExit: (reason: string, end?: GuestEnd) => void;
  isBooted: boolean;
  /** Set once its owner has ended it; resolves when it is over. */
  ending: PromiseWithResolvers<void> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class HostClient {
  readonly #options: HostOptions;
  readonly #program: Program;
  readonly #reader: RecordReader;
  readonly #guests = new Map<number, Guest>();
  readonly #isOver: Promise<void>;
  #next = 1;
  #unread = 0;
  #unreadRecords = 0;
  #ended = false;
  #sliceStart = 0;
  /** What the guests' heaps may have together. */
  #maxHeapBytes = 0;
  #looksAbove = 0;
  readonly #watch: ReturnType<typeof setInterval>;

  constructor(options: HostOptions) {
    this.#options = options;
    const { file, args, input } = options.program;
    const program = options.start(file, args, { cwd: "/", env: {} });
    this.#program = program;
    this.#reader = new RecordReader(
      (kind) => Math.min(options.maxRecordBytes, longest(kind)),
      (record) => this.#receive(record),
      (problem) => this.#crash(problem),
    );
    program.read((chunk, stream) => {
      if (stream === "stdout") return this.#read(chunk);
      // What a runtime says when it dies.
      log.debug(`extension host: ${oneLine(chunk.subarray(0, 2000).toString("utf8"))}`);
    });
    this.#isOver = program.exited.then(
      ({ code, signal }) =>
        this.#crash(signal === null ? `exited with status ${code ?? "unknown"}` : `was ended by ${signal}`),
      (error: unknown) => this.#crash(`could not be started: ${oneLine(String(error))}`),
    );
    if (input) this.#write(input);
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    this.#watch.unref();
  }

  /** Its process id. */
  get pid(): number | undefined {
    return this.#program.pid;
  }

  /** The numbers of the guests that have neither ended nor are being ended. */
  get guests(): number[] {
    return [...this.#guests].flatMap(([number, { ending }]) => (ending ? [] : [number]));
  }

  /** Whether it takes no more guests. */
  get ended(): boolean {
    return this.#ended;
  }

  /** A worker of its own for one more extension. `maxHeapBytes`: what its heap may have over that at the start. */
  startGuest(maxHeapBytes: number): { number: number; guest: GuestWorker } {
    const number = this.#next++;
    this.#maxHeapBytes += maxHeapBytes;
    const guest: Guest = {
      onMessage: () => {},
      onExit: () => {},
      isBooted: false,
      ending: undefined,
      timer: undefined,
    };
    this.#guests.set(number, guest);
    this.#send(number, KIND.start, Math.ceil(maxHeapBytes / 1024), []);
    const worker: GuestWorker = {
      post: (message) => this.#post(number, guest, message),
      onMessage: (listener) => {
        guest.onMessage = listener;
      },
      onExit: (listener) => {
        guest.onExit = listener;
      },
      terminate: () => this.#end(number, guest),
    };
    return { number, guest: worker };
  }

  /** Ends it, and every guest in it, now. Nobody is told. */
  async kill(): Promise<void> {
    this.#close();
    await this.#killed();
  }

  #post(number: number, guest: Guest, message: BootMessage | HostMessage): void {
    if (guest.ending || this.#ended) return;
    if (typeof message === "string") return this.#send(number, KIND.deliver, 0, [message]);
    if (!Array.isArray(message)) {
      guest.isBooted = true;
      return this.#send(number, KIND.boot, 0, [JSON.stringify(message)]);
    }
    if (message[0] !== "return") return;
    const [, call, reply] = message;
    if (reply.error !== undefined) return this.#send(number, KIND.refused, call, [reply.error]);
    this.#send(number, KIND.returned, call, reply.bytes ? [reply.text, reply.bytes] : [reply.text]);
  }

  #send(guest: number, kind: number, number: number, parts: readonly (string | Uint8Array)[]): void {
    if (!this.#ended) this.#write(encodeRecord(guest, kind, number, parts));
  }

  #write(bytes: Uint8Array): void {
    this.#unread += bytes.byteLength;
    this.#unreadRecords++;
    if (this.#unread > MAX_UNREAD_BYTES || this.#unreadRecords > MAX_UNREAD_RECORDS)
      return this.#crash("did not read what it was sent");
    void this.#program.write(bytes).then(() => {
      this.#unread -= bytes.byteLength;
      this.#unreadRecords--;
    });
  }

  /** The agent's loop gets its turn between two pieces, however much there is to read, and however many records are in it. */
  #read(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#sliceStart === 0) this.#sliceStart = performance.now();
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      this.#reader.push(chunk.subarray(at, at + PIECE_BYTES));
      if (performance.now() - this.#sliceStart < SLICE_MS) continue;
      this.#sliceStart = 0;
      const rest = chunk.subarray(at + PIECE_BYTES);
      return new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#read(rest));
    }
    return undefined;
  }

  #receive({ extension, kind, number, parts }: WireRecord): void {
    const guest = this.#guests.get(extension);
    if (!guest) return this.#crash("sent a record of an extension that it does not run");
    if (kind < KIND.frame) return this.#crash("sent a record that only the agent may send");
    if (kind === KIND.exit) return this.#exited(extension, guest, parts[0]!);
    if (guest.ending) return;
    if (!guest.isBooted) return this.#crash("sent a record of an extension that was not there yet");
    // Whoever gets it checks the lengths: what is too long for a guest in a worker is too long for this one.
    if (kind === KIND.call) {
      const [operation, text, bytes] = parts as [Uint8Array, Uint8Array, Uint8Array?];
      const copy = bytes && new Uint8Array(bytes);
      return guest.onMessage(["call", number, partText(operation), partText(text), copy]);
    }
    const name = kind === KIND.frame ? "frame" : kind === KIND.fatal ? "fatal" : "log";
    guest.onMessage([name, partText(parts[0]!)]);
  }

  #exited(number: number, guest: Guest, reason: Uint8Array): void {
    this.#forget(number, guest);
    if (!guest.ending) guest.onExit(oneLine(partText(reason.subarray(0, 1000))));
    // Nobody is in it any more: it goes with its last guest.
    const over = this.#guests.size === 0 ? this.kill() : Promise.resolve();
    void over.then(() => guest.ending?.resolve());
  }

  async #end(number: number, guest: Guest): Promise<void> {
    if (guest.ending || !this.#guests.has(number)) return guest.ending?.promise;
    guest.ending = Promise.withResolvers();
    if (this.#options.isAlone) {
      this.#forget(number, guest);
      await this.kill();
      return guest.ending.resolve();
    }
    this.#send(number, KIND.end, 0, []);
    guest.timer = setTimeout(() => this.#crash("could not end one of its extensions", number), END_MS);
    return guest.ending.promise;
  }

  #forget(number: number, guest: Guest): void {
    clearTimeout(guest.timer);
    this.#guests.delete(number);
  }

  #crash(reason: string, culprit?: number): void {
    if (this.#ended) return;
    this.#close();
    const endOf = this.#options.onCrash(reason, culprit);
    const guests = [...this.#guests];
    this.#guests.clear();
    for (const [number, guest] of guests) {
      clearTimeout(guest.timer);
      if (guest.ending) {
        guest.ending.resolve();
        continue;
      }
      const end = endOf(number);
      const again = end.restart ? "lost its extension host" : "has now lost two extension hosts";
      guest.onExit(`${again}, ${end.restart ? "which" : "and this one"} ${reason}`, end);
    }
    void this.#killed();
  }

  #look(): void {
    const most = RESIDENT_BYTES + 2 * this.#maxHeapBytes;
    this.#looksAbove = residentBytes(this.#program.pid) > most ? this.#looksAbove + 1 : 0;
    if (this.#looksAbove > 1) this.#crash(`used more than ${Math.round(most / 1024 / 1024)} MB of memory`);
  }

  #close(): void {
    this.#ended = true;
    clearInterval(this.#watch);
    this.#reader.stop();
  }

  async #killed(): Promise<void> {
    this.#program.endInput();
    await killGroup(this.#program.pid, 0);
    this.#program.release();
    await this.#isOver;
  }
}

/** The longest record of a kind that boot would send, in bytes: a character takes at most three. */
function longest(kind: number): number {
  if (kind === KIND.frame) return Number.POSITIVE_INFINITY;
  return kind === KIND.call ? 1024 + 3 * MAX_CALL_CHARS + MAX_CALL_BYTES : 16 * 1024;
}

/** The resident size of a process; 0 where the kernel does not tell by a file. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]) * 4096;
  } catch {
    return 0;
  }
}
