/**
 * Ends the guest that uses too much memory. No engine here limits the heap of a worker (design.md, trap 5), so the process that
 * holds the workers looks at its own resident size: while that does not grow, nothing else happens. When it does, each guest is
 * asked for the size of its heap, which boot answers between two turns of the guest. One that has too much is
 * ended, and so is the one that does not answer while the process goes on growing: it allocates in a loop.
 *
 * Some memory is in no heap that an engine tells of: texts of names and of segmenters, keys. What the process grows by and no
 * heap has is put down to the guest that was at work meanwhile, as the processor's time of its thread says.
 */
import type { GuestWorker } from "../../src/platform/index.ts";
import type { HostMessage } from "../guest/protocol.ts";

/** How often the resident size is read, in ms: while guests are at work, and otherwise. */
const BUSY_MS = 100;
const QUIET_MS = 500;
/** After so many looks at which nothing had moved, it is quiet. */
const LOOKS = 20;
/** Growth of the process that is worth a question, in bytes. */
const STEP_BYTES = 8 * 1024 * 1024;
/** How long a guest may leave a question open before growth counts as its own, in ms; one that grows very fast has less time. */
const SILENT_MS = 250;
const FAST = 4;
/** How many times its limit may be put down to a guest that is in no heap. */
const UNTOLD = 4;
/** The least time of a processor that it takes to fill a byte, in ms. */
const FILL_MS = 0.1 / 1024 / 1024;

export interface MemoryLimits {
  /** What the heap may have over its size at the start, in bytes. */
  maxHeapBytes: number;
}

interface Guest {
  readonly limit: number;
  readonly worker: GuestWorker;
  readonly end: () => void;
  /** Its heap before the extension was loaded, and at its last answer, in bytes. */
  base: number | undefined;
  heap: number;
  /** Of its thread, in ms: processor time at its last answer. */
  busy: number;
  /** The same, at the step before. */
  before: { heap: number; busy: number };
  /** Bytes that the process grew by, that are in no heap, and that are its doing, it seems. */
  untold: number;
  /** When it was asked what it has not answered yet, and what the process and this one's heap had then. */
  asked: { at: number; resident: number } | undefined;
  /** In a system call that it waits for: it can't answer, and can't allocate. */
  waits: boolean;
}

export class MemoryWatch {
  readonly #resident: () => number;
  readonly #own: () => number;
  readonly #busy: () => number;
  readonly #guests = new Set<Guest>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What the process had when the guests were last asked, or less. */
  #mark = 0;
  /** What the host's own heap had then. */
  #ownMark = 0;
  /** What the process had grown by at the last step, less what the host's own heap had; and the host's thread had worked till then. */
  #grown = 0;
  #ownBusy = 0;
  #last = 0;
  #quiet = 0;
  #next = 1;

  /**
   * @param resident the process's resident size, in bytes; @param own the heap of the thread that watches; @param busy how long that has
   * had a processor, in ms
   */
  constructor(
    resident: () => number = () => process.memoryUsage.rss(),
    own: () => number = () => process.memoryUsage().heapUsed,
    busy: () => number = threadMs,
  ) {
    this.#resident = resident;
    this.#own = own;
    this.#busy = busy;
  }

  /** The same worker, watched: if it uses too much, it exits with that reason. */
  guard(worker: GuestWorker, { maxHeapBytes }: MemoryLimits): GuestWorker {
    let onExit: (reason: string) => void = () => {};
    const forget = (): void => {
      this.#guests.delete(guest);
      if (this.#guests.size === 0) this.#stop();
    };
    const guest: Guest = {
      limit: maxHeapBytes,
      worker,
      end: () => {
        forget();
        void worker.terminate();
        onExit(tooMuch(maxHeapBytes));
      },
      base: undefined,
      heap: 0,
      busy: 0,
      before: { heap: 0, busy: 0 },
      untold: 0,
      asked: undefined,
      waits: false,
    };
    this.#add(guest);
    return {
      post: (message) => {
        if (isReturn(message) && message[1] === 0) this.#awake(guest);
        this.#wake();
        worker.post(message);
      },
      onMessage: (listener) =>
        worker.onMessage((message) => {
          this.#wake();
          if (Array.isArray(message)) {
            if (message[0] === "pong") return this.#answered(guest, message[2], message[3]);
            if (message[0] === "call" && message[1] === 0) guest.waits = true;
          }
          return listener(message);
        }),
      onExit: (listener) => {
        onExit = listener;
        worker.onExit((reason, end) => {
          forget();
          listener(reason, end);
        });
      },
      terminate: () => {
        forget();
        return worker.terminate();
      },
      ...(worker.closed ? { closed: worker.closed } : {}),
    };
  }

  /** One look. Called by the timer. */
  look(now: number = performance.now()): void {
    const resident = this.#resident();
    const moved = Math.abs(resident - this.#last) > 1024 * 1024;
    this.#quiet = moved ? 0 : this.#quiet + 1;
    this.#last = resident;
    if (resident < this.#mark) {
      for (const guest of this.#guests) guest.untold = Math.max(guest.untold - (this.#mark - resident), 0);
      this.#mark = resident;
    }
    this.#endSilent(now, resident);
    if (resident - this.#mark < STEP_BYTES) return;
    this.#putDown();
    const own = this.#own();
    this.#grown = resident - this.#mark - Math.max(own - this.#ownMark, 0);
    this.#mark = resident;
    this.#ownMark = own;
    for (const guest of this.#guests) this.#ask(guest, now, resident);
  }

  /** What the process had grown by at the last step, about which all that could answer have by now. */
  #putDown(): void {
    let untold = this.#grown;
    let busiest: Guest | undefined;
    let most = 0;
    for (const guest of this.#guests) {
      untold -= Math.max(guest.heap - guest.before.heap, 0);
      const worked = guest.busy - guest.before.busy;
      if (!busiest || worked > most) {
        busiest = guest;
        most = worked;
      }
      guest.before = { heap: guest.heap, busy: guest.busy };
    }
    const ownBusy = this.#busy();
    const ownWorked = ownBusy - this.#ownBusy;
    this.#ownBusy = ownBusy;
    if (!busiest || untold <= 0 || most < untold * FILL_MS || most < ownWorked) return;
    busiest.untold += untold;
    if (busiest.untold > busiest.limit * UNTOLD) busiest.end();
  }

  /**
   * Of those that leave a question open while the process grows: the one that was asked first, when there is more growth than all of
   * them may have together. Fewer is no proof: each of ten that start at once is silent for a while, and grows a little.
   */
  #endSilent(now: number, resident: number): void {
    let first: Guest | undefined;
    let most = 0;
    for (const guest of this.#guests) {
      if (!guest.asked || guest.waits) continue;
      most += guest.limit;
      if (!first || guest.asked.at < first.asked!.at) first = guest;
    }
    if (!first?.asked) return;
    const grown = resident - first.asked.resident - Math.max(this.#own() - this.#ownMark, 0);
    const isLate = now - first.asked.at >= SILENT_MS;
    if (grown < (isLate ? most : most * FAST)) return;
    first.end();
    // What it had comes back; the others start anew from here.
    for (const guest of this.#guests) if (guest.asked) guest.asked = { at: now, resident };
  }

  #ask(guest: Guest, now: number, resident: number): void {
    // One that has not booted takes nothing but its boot message.
    if (guest.asked || guest.base === undefined) return;
    guest.asked = { at: now, resident };
    guest.worker.post(["ping", this.#next++]);
  }

  #answered(guest: Guest, bytes: unknown, busy: unknown): void {
    guest.asked = undefined;
    if (typeof bytes !== "number") return;
    guest.heap = bytes;
    if (typeof busy === "number") guest.busy = busy;
    if (guest.base === undefined) {
      guest.base = bytes;
      guest.before = { heap: bytes, busy: guest.busy };
    }
    if (guest.heap - guest.base > guest.limit) guest.end();
  }

  /** Its call is answered: what the process did meanwhile was not its doing. */
  #awake(guest: Guest): void {
    guest.waits = false;
    if (guest.asked) guest.asked = { at: performance.now(), resident: this.#last };
  }

  #add(guest: Guest): void {
    if (this.#guests.size === 0) {
      this.#mark = this.#resident();
      this.#ownMark = this.#own();
      this.#last = this.#mark;
    }
    this.#guests.add(guest);
    this.#quiet = 0;
    this.#schedule();
  }

  /** There is work. */
  #wake(): void {
    if (this.#quiet >= LOOKS && this.#timer !== undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#quiet = 0;
      this.#schedule();
    }
    this.#quiet = 0;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#guests.size === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.look();
        this.#schedule();
      },
      this.#quiet >= LOOKS ? QUIET_MS : BUSY_MS,
    );
    this.#timer.unref();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** 0 where the runtime does not tell. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? { user: 0, system: 0 };
  return (user + system) / 1000;
}

function isReturn(message: unknown): message is Extract<HostMessage, readonly unknown[]> {
  return Array.isArray(message) && message[0] === "return";
}

/** Completes "extension x …". */
function tooMuch(limit: number): string {
  return `used more than ${Math.round(limit / 1024 / 1024)} MB of memory (extensionHost.maxHeapBytes)`;
}
