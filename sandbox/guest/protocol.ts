/** What crosses between a worker's host side (src/extensions/worker.ts), boot and the API, besides frames. */

/** The first message to a worker. */
export interface BootMessage {
  /** Our own texts by name: `api`, and the host packages that the bundle imports. Evaluated without the source check. */
  sources: Record<string, string>;
  /** The extension: a script whose value is an async function of `BundleLinks`. */
  bundle: string;
  maxFrameChars: number;
  about: { name: string; path: string };
}

/** What boot gives to the API code in the compartment. */
export interface GuestHost {
  /** Sends one frame as JSON text. Throws a RangeError when it is too long. */
  send(text: string): void;
  /** Reports that the extension could not be loaded. */
  fail(text: string): void;
  /** Evaluates the extension's bundle in the compartment. */
  evaluateBundle(): unknown;
  /** Evaluates a host package in the compartment; undefined if the host did not send it. */
  evaluatePackage(name: string): unknown;
}

/** A message from a worker: a frame as JSON text, the reason why loading failed, or a line for the log. */
export type GuestMessage = readonly ["frame" | "fatal" | "log", string];

/** The parameter `__xdev` of a bundle. */
export interface BundleLinks {
  import(specifier: string, names: readonly string[]): Record<string, unknown>;
  dynamicImport(specifier: unknown): Promise<Record<string, unknown>>;
  require(specifier: string): unknown;
  exports: Record<string, unknown>;
  meta: Record<string, unknown>;
}
