import type { GuestSource } from "../../sandbox/guest/packages.ts";
import type { BootMessage, HostMessage } from "../../sandbox/guest/protocol.ts";
import type { HostProgram } from "../../sandbox/host/client.ts";
import type { StartProgram } from "./program.ts";

/**
 * What differs between the runtimes, and the only place that knows which one is running. Everything else uses `node:`
 * modules. `loadPlatform` is asynchronous so that start-up loads one implementation, and only when it is needed.
 */
export interface GuestOptions {
  /** Its heap is kept small, at the price of more work to do so. */
  isSmall?: boolean;
}

export interface Platform {
  readonly runtime: "bun" | "deno";
  /** Whether this is the compiled executable (no sources, no node_modules beside it). */
  readonly compiled: boolean;
  /**
   * Bundles an entry file and what it imports into one ES module text. Every path that is resolved and every file that
   * is read goes through `hooks`, which decide; nothing of the bundled code is executed. Throws `XdevError`
   * with code `bundle-failed` and the positions of the author's files.
   */
  bundle(entry: string, hooks: BundleHooks): Promise<BundleOutput>;
  /** Starts the guest's boot code in a worker. */
  startGuest(options?: GuestOptions): Promise<GuestWorker>;
  /** How to start an extension host (sandbox/host): a process that runs guests and has no rights. */
  hostProgram(): Promise<HostProgram>;
  /** Whether a worker of this process that loops can be ended. */
  readonly endsLoops: boolean;
  /** Starts the bundler's worker (sandbox/bundle/worker.ts): trusted code, off this thread. */
  startBundler(): Promise<GuestWorker>;
  /** Starts a program in a process group of its own with piped standard streams; see `programStarter` in src/base. */
  startProgram(): Promise<StartProgram>;
  /** The source texts that boot evaluates in a compartment before an extension: see `sandbox/guest/packages.ts`. */
  guestSource(name: string): Promise<GuestSource>;
}

export type BundleLoader = "ts" | "tsx" | "js" | "jsx" | "json";

export interface LoadedFile {
  contents: string;
  loader: BundleLoader;
  /** Names to write for `__dirname` and `__filename` where they are no variables of the file's own. */
  names?: Record<"__dirname" | "__filename", string>;
}

export interface BundleHooks {
  /**
   * Absolute path of the file that `specifier` means in `importer`, or `external` to leave the import in the output, as
   * `name` if there is one. A package may answer a `require` with another file than an `import`.
   */
  resolve(
    specifier: string,
    importer: string,
    kind: "import" | "require",
  ): Promise<{ path: string } | { external: true; name?: string }>;
  /** The text of a file that `resolve` gave, and how to read it. Throws to refuse. */
  load(path: string): Promise<LoadedFile>;
}

export interface BundleOutput {
  /** An ES module: imports of externals stay, everything else is inlined. */
  code: string;
  /** Source map (JSON text), with the author's files as sources. */
  map: string;
}

/** A worker of the guest, seen from the host. Only strings and plain data cross. */
export interface GuestWorker {
  /** The first message boots it. A `return` with number 0 answers the synchronous call that it waits in. */
  post(message: BootMessage | HostMessage): void;
  /** The worker sends no more than a certain number of messages that the listener has not dealt with. */
  onMessage(listener: (data: unknown) => void | Promise<void>): void;
  /** Called once when the worker ends by itself or fails; `reason` is for a person. */
  onExit(listener: (reason: string, end?: GuestEnd) => void): void;
  /** Ends the worker at once, whatever it is doing. Resolves when it is over, or could not be ended in half a second. */
  terminate(): Promise<void>;
  /** Resolves when its thread is over, where that can be known. */
  readonly closed?: Promise<void>;
}

/** What should follow a guest's end that was not, or not only, its own doing. */
export interface GuestEnd {
  /** Whether to start it again, whatever the user has set; false: never again by itself. */
  restart: boolean;
}

let loaded: Promise<Platform> | undefined;

/** The platform of the running process. */
export function loadPlatform(): Promise<Platform> {
  loaded ??=
    "Deno" in globalThis
      ? import("./deno.ts").then((module) => module.platform)
      : import("./bun.ts").then((module) => module.platform);
  return loaded;
}
