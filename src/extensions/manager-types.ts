/** What a session gives to the manager of its extensions (manager.ts), and what it gets of it. */
import type { Rights } from "../../sandbox/broker/broker.ts";
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import type { Cache } from "../base/cache.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { CallServices } from "./calls.ts";
import type { Channel } from "./channel.ts";
import type { ExtensionSource } from "./discovery.ts";
import type { Extension, ExtensionIdentity } from "./extension.ts";
import type { ActionFrame } from "./frame.ts";
import type { Guests } from "./guests.ts";
import type { Authority } from "./worker.ts";

/** Why one extension is not there (wire-notes.md, "Handshake"). */
export interface LoadFailure {
  name: string;
  path: string;
  kind: "process" | "worker";
  reason: string;
  exitCode?: number;
  signal?: string;
  /** The last lines of its log, at most 20. */
  log: readonly string[];
}

/** What the session does with what extensions ask for. */
export interface ManagerHost extends CallServices {
  /** Tells the user something once: a retired extension, a skipped tool. */
  notice(text: string): void;
  /**
   * `rights` are those of a module; a process extension has none of its own. `isProjects`: the project brings it, so that its name
   * says nothing about what the user meant by that name.
   */
  action(
    name: string,
    frame: ActionFrame,
    rights: Rights | undefined,
    isProjects: boolean,
    extension: Extension,
  ): void;
  /** The tools of extensions have changed: one was retired, or is back. */
  toolsChanged?(): void;
  /** Extensions have been exchanged; told before `toolsChanged`. */
  reloaded?(): void;
  /** An extension is not there any more, or another takes its place: what it registered by actions is void. */
  left?(extension: string): void;
  /** A line of an extension's own log; false if it was dropped, and should be shown nowhere. */
  log?(extension: string, level: string, text: string): boolean;
}

export interface ManagerOptions {
  sources: readonly ExtensionSource[];
  settings: ExtensionHostSettings;
  env: Record<string, string | undefined>;
  /** Where bundles are kept (src/base/cache.ts); none without it. */
  dataDir?: string;
  /** In the place of that of the data dir. */
  cache?: Cache;
  /**
   * What a module's registrations may depend on besides its code (permissions, folders, environment), as a text that changes with
   * it; undefined if that can't be told. Without it none is left asleep (sleep.ts).
   */
  circumstances?: (source: ExtensionSource) => Promise<string | undefined>;
  /** What there is at a reload. Without it: the same sources. */
  rediscover?: () => Promise<Discovered>;
  /**
   * What a module may do, once its bundle is known; without it, nothing. `hold` stops its clocks while the user is asked. Called
   * for each of its lives.
   */
  authority?: (source: ExtensionSource, bundle: LoadedBundle, hold: () => () => void) => Promise<Authority>;
  /** What watches or stands in for a channel (`xdev ext trace`, `xdev ext replay`). */
  wrapChannel?: (channel: Channel, identity: ExtensionIdentity) => Channel;
  /** Where modules run, if a worker was prepared already. */
  guests?: Guests;
  /** Called when all extensions have been started and nothing is left but to wait for them. */
  onStarted?: () => void;
  host: ManagerHost;
}

export interface Discovered {
  sources: readonly ExtensionSource[];
  settings: ExtensionHostSettings;
  /** What the project's extensions are now is not trusted: those that run are left as they are, and no others are loaded. */
  keepsProjects: boolean;
  /** Canonical paths of what is there, was clearly meant to be an extension, and can't be made out. */
  broken?: readonly string[];
}

export interface ExtensionCommand {
  extension: Extension;
  command: string;
  description: string;
  /** What may follow it, for completion. */
  completions: readonly string[];
  /** Whether there is something to offer behind it (`offers.complete`). */
  completes: boolean;
  /** The word that a user types, `/ext:<extension>:<command>`. */
  word: string;
}
