/**
 * Where the guests of a session run: in workers of this process, or in extension hosts (design.md, levels `worker` and `host`).
 * Which extension runs in which extension host, and what follows when one of them ends before its extensions. They share one host until it
 * crashes. Nobody can say then whose doing that was, so each goes on in a host of its own, and the next crash has one
 * cause: an extension that was there at two is not started again.
 */
import type { HostClient, HostOptions } from "../../sandbox/host/client.ts";
import { MemoryWatch } from "../../sandbox/host/memory.ts";
import { XdevError } from "../base/errors.ts";
import { programStarter } from "../base/process.ts";
import { type GuestWorker, loadPlatform, type Platform } from "../platform/index.ts";

export type Level = "worker" | "host";

/** How often an extension may have been in a host that crashed. */
const MAX_CRASHES = 2;
/** The longest record of a shared host, in bytes: a frame, or the bytes of a system call. */
const RECORD_BYTES = 32 * 1024 * 1024;

export interface GuestLimits {
  maxHeapBytes: number;
  /** Of its frames, in bytes of UTF-8. */
  maxFrameBytes?: number;
}

export class Guests {
  #hosts: ExtensionHosts | undefined;
  #watch: MemoryWatch | undefined;
  #prepared: Promise<GuestWorker> | undefined;
  #workers = 0;

  /**
   * Starts a worker for the first extension that takes one: that takes longer than to find out which it is. `dismiss` must be
   * called when all have started.
   */
  prepare(): void {
    this.#prepared ??= loadPlatform().then((platform) => platform.startGuest());
    this.#prepared.catch(() => {});
  }

  /** Ends the worker that was prepared and that no extension took. */
  dismiss(): void {
    void this.#prepared?.then((guest) => guest.terminate()).catch(() => {});
    this.#prepared = undefined;
  }

  async start(name: string, level: Level, limits: GuestLimits): Promise<GuestWorker> {
    const platform = await loadPlatform();
    if (level === "host") {
      this.#hosts ??= new ExtensionHosts(platform);
      return this.#hosts.startGuest(name, limits);
    }
    this.#watch ??= new MemoryWatch();
    const prepared = this.#prepared;
    this.#prepared = undefined;
    // One that could not be started is no reason not to try.
    // Of one extension the start counts, of many the memory.
    const options = { isSmall: this.#workers++ > 0 };
    const guest = await (prepared?.catch(() => platform.startGuest(options)) ?? platform.startGuest(options));
    return this.#watch.guard(guest, limits);
  }

  /** The user starts it anew: what was is forgotten. */
  forgive(name: string): void {
    this.#hosts?.forgive(name);
  }
}

/**
 * Where an extension runs. By itself: what a project brings, in an extension host; what the user has put into the data dir or named,
 * in a worker, unless a worker that loops can't be ended here.
 */
export function levelOf(
  setting: "auto" | Level,
  origin: "user" | "project" | undefined,
  endsLoops: boolean,
): Level {
  if (setting !== "auto") return setting;
  return origin === "project" || !endsLoops ? "host" : "worker";
}

export class ExtensionHosts {
  readonly #platform: Platform;
  /** The crashes that each extension was in. */
  readonly #crashes = new Map<string, number>();
  #shared: { client: HostClient; names: Map<number, string> } | undefined;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** A worker in an extension host. Throws `XdevError` with code `host-crashed` for one that was in too many crashes. */
  async startGuest(name: string, limits: GuestLimits): Promise<GuestWorker> {
    const crashes = this.#crashes.get(name) ?? 0;
    if (crashes >= MAX_CRASHES) throw new XdevError("host-crashed", leftOut(crashes));
    const program = await this.#platform.hostProgram();
    const [start, { HostClient: Client }] = await Promise.all([
      programStarter(program.start),
      import("../../sandbox/host/client.ts"),
    ]);
    // A guest counts characters, of three bytes at most.
    const recordBytes = Math.max(RECORD_BYTES, 4 * (limits.maxFrameBytes ?? 0));
    const isAlone = crashes > 0 || recordBytes > RECORD_BYTES || !this.#platform.endsLoops;
    const found =
      isAlone || this.#shared?.client.ended !== false
        ? this.#open(Client, { program, start, isAlone, maxRecordBytes: recordBytes })
        : this.#shared;
    if (!isAlone) this.#shared = found;
    const { number, guest } = found.client.startGuest(limits.maxHeapBytes);
    found.names.set(number, name);
    return guest;
  }

  /** The user starts it anew: what was is forgotten. */
  forgive(name: string): void {
    this.#crashes.delete(name);
  }

  #open(Client: typeof HostClient, options: Omit<HostOptions, "onCrash">) {
    const names = new Map<number, string>();
    const client: HostClient = new Client({
      ...options,
      onCrash: (_reason, culprit) => {
        // Whoever could not be ended is known, and is being ended; the others had no part in it.
        const suspects = culprit === undefined ? client.guests : [];
        for (const number of suspects) this.#charge(names.get(number)!);
        return (number) => ({ restart: (this.#crashes.get(names.get(number)!) ?? 0) < MAX_CRASHES });
      },
    });
    return { client, names };
  }

  #charge(name: string): void {
    this.#crashes.set(name, (this.#crashes.get(name) ?? 0) + 1);
  }
}

/** Completes "extension x …". */
function leftOut(crashes: number): string {
  return `was in ${crashes} extension hosts that crashed; it is left out until the user starts it anew`;
}
