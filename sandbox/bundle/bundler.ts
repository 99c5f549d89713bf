/**
 * Bundling off the agent's thread. One worker bundles one extension after the other; it is started by the first and
 * ends when it is idle. One that hangs or crashes is ended, which fails the bundle that it was at, and the others
 * are done by the next. What comes from the worker is believed: only our own code runs in it.
 */
import { XdevError } from "../../src/base/errors.ts";
import { formatMs } from "../../src/base/time.ts";
import { type GuestWorker, loadPlatform } from "../../src/platform/index.ts";
import type { Bundle } from "./index.ts";

/** What the agent needs of a bundle. */
export interface Bundled extends Pick<Bundle, "imports" | "declares" | "places"> {
  /** In UTF-8: bytes move between threads, a text is copied. */
  source: Uint8Array;
  /** The SHA-256 digest of the source. */
  digest: string;
  /** What it was made of, as JSON text: see `Inputs` in cached.ts. */
  inputs: string;
}

export type BundlerAnswer =
  | Bundled
  | { failure: { code: string; message: string; hint?: string | undefined } };

/** The largest bundles take ten seconds on a slow machine. */
const TIMEOUT_MS = 60_000;
const IDLE_MS = 250;

interface Job {
  entry: string;
  begins: () => void;
  resolve(bundled: Bundled): void;
  reject(error: Error): void;
}

export class Bundler {
  readonly #start: () => Promise<GuestWorker>;
  readonly #timeoutMs: number;
  readonly #idleMs: number;
  readonly #jobs: Job[] = [];
  #worker: Promise<GuestWorker> | undefined;
  #current: Job | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `start`, `timeoutMs` and `idleMs` are for tests. */
  constructor(
    start: () => Promise<GuestWorker> = async () => (await loadPlatform()).startBundler(),
    { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS }: { timeoutMs?: number; idleMs?: number } = {},
  ) {
    this.#start = start;
    this.#timeoutMs = timeoutMs;
    this.#idleMs = idleMs;
  }

  /** Starts the worker ahead of a bundle that is about to be asked for. */
  prepare(): void {
    if (this.#current === undefined) this.#wait();
    this.#open().catch(() => {});
  }

  /**
   * Bundles the extension at `entry`; `begins` is called when those before it are done. Throws what `bundleExtension` throws, and
   * `bundle-failed` if that does not end.
   */
  bundle(entry: string, begins: () => void = () => {}): Promise<Bundled> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ entry, begins, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const job = this.#jobs.shift();
    if (job === undefined) return this.#wait();
    this.#current = job;
    job.begins();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#fail(job, `bundling took longer than ${formatMs(this.#timeoutMs)}`),
      this.#timeoutMs,
    );
    this.#open().then(
      (worker) => {
        if (this.#current === job) worker.post(job.entry);
      },
      (error: unknown) => this.#fail(job, `the bundler could not be started (${String(error)})`),
    );
  }

  #open(): Promise<GuestWorker> {
    if (this.#worker) return this.#worker;
    const opened = this.#start().then((worker) => {
      worker.onMessage((answer) => this.#done(answer as BundlerAnswer));
      worker.onExit((reason) => {
        if (this.#worker !== opened) return;
        if (this.#current) this.#fail(this.#current, `the bundler ended (${reason})`);
        else this.#end();
      });
      return worker;
    });
    this.#worker = opened;
    return opened;
  }

  #done(answer: BundlerAnswer): void {
    const job = this.#current;
    if (job === undefined) return;
    this.#current = undefined;
    if ("failure" in answer) {
      const { code, message, hint } = answer.failure;
      job.reject(new XdevError(code, message, { hint }));
    } else {
      job.resolve(answer);
    }
    this.#next();
  }

  /** Fails the bundle that the worker is at, and the worker with it. */
  #fail(job: Job, reason: string): void {
    if (this.#current !== job) return;
    this.#current = undefined;
    this.#end();
    job.reject(
      new XdevError("bundle-failed", `${job.entry}: ${reason}`, {
        hint: "Bundle fewer and smaller files, or leave the extension out.",
      }),
    );
    this.#next();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), this.#idleMs);
    this.#timer.unref?.();
  }

  #end(): void {
    clearTimeout(this.#timer);
    const ended = this.#worker;
    this.#worker = undefined;
    ended?.then((worker) => worker.terminate()).catch(() => {});
  }
}

/** The bundler of this process. */
export const bundler = new Bundler();
