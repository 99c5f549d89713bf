/**
 * How an extension of a session comes to be, from its source and the settings, and how it is known whether it is still what it
 * was made of: then a reload leaves it running.
 */
import { stat } from "node:fs/promises";
import type { Rights } from "../../sandbox/broker/broker.ts";
import { freshBundle, keptBundle, type LoadedBundle } from "../../sandbox/bundle/cached.ts";
import type { Cache } from "../base/cache.ts";
import { errorText } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { VERSION } from "../base/version.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { Channel } from "./channel.ts";
import { connect } from "./connect.ts";
import type { ExtensionSource } from "./discovery.ts";
import { Extension, type ExtensionHandlers, type ExtensionLimits } from "./extension.ts";
import { type Guests, levelOf } from "./guests.ts";
import type { ManagerOptions } from "./manager.ts";
import type { Registrations } from "./sleep.ts";
import type { Authority } from "./worker.ts";

export interface Member {
  readonly extension: Extension;
  /** With the name that it has in the session. */
  readonly source: ExtensionSource;
  readonly isProjects: boolean;
  /** What of the settings it was made with, as text. */
  readonly terms: string;
  /** What it was made of, once that is known. */
  made: Made | undefined;
  /** What its registrations may depend on besides that, as it was when it was ready. */
  circumstances: Promise<string | undefined> | undefined;
  rights: Rights | undefined;
}

interface Made {
  /** Whatever has this is the same. */
  stamp: string;
  /** Canonical paths. */
  files: readonly string[];
  /** Kept where the disk may by now have what the user has not seen. */
  bundle?: LoadedBundle;
}

export interface MakerParts {
  options: Pick<ManagerOptions, "env" | "authority" | "wrapChannel" | "circumstances">;
  cache: Cache;
  guests: Guests;
  registrations: Registrations;
  endsLoops: boolean;
  handlers: ExtensionHandlers;
}

/** Makes the extensions of a session. */
export class MemberMaker {
  readonly #parts: MakerParts;
  /** Whether a worker of this process that loops can be ended. */
  endsLoops: boolean;
  readonly #learning = new Set<Promise<void>>();

  constructor(parts: MakerParts) {
    this.#parts = parts;
    this.endsLoops = parts.endsLoops;
  }

  /**
   * One that is not started yet.
   * @param source with its name in the session
   * @param isHeir it takes the place of a policy: until it has loaded, calls are denied
   * @param bundle what it is made of, if that is known
   */
  make(
    source: ExtensionSource,
    settings: ExtensionHostSettings,
    { isHeir = false, bundle }: { isHeir?: boolean; bundle?: LoadedBundle | undefined } = {},
  ): Member {
    const { options, cache, guests, handlers } = this.#parts;
    const { name, path, kind, origin } = source;
    const limits = limitsOf(settings, name);
    const level = kind === "process" ? kind : levelOf(limits.isolation, origin, this.endsLoops);
    const identity = { name, path, kind, level };
    const isProjects = origin === "project";
    let known = bundle;
    const open = async (anew: boolean): Promise<Channel> => {
      if (anew) guests.forgive(name);
      const { maxFrameBytes, maxTimers, maxHeapBytes } = limits;
      const authority = async (loaded: LoadedBundle, onAsking: () => void): Promise<Authority> => {
        const hold = (): (() => void) => {
          onAsking();
          return extension.hold();
        };
        const given = await options.authority!(source, loaded, hold);
        member.rights = given.rights;
        return given;
      };
      const first = known;
      known = undefined;
      const channel = await connect(identity, {
        env: options.env,
        cache,
        maxFrameBytes,
        maxTimers,
        maxHeapBytes,
        guests,
        bundle: first ?? member.made?.bundle,
        onBundle: (loaded) => {
          member.made = madeOf(loaded, isProjects);
        },
        ...(options.authority ? { authority } : {}),
      });
      return options.wrapChannel?.(channel, identity) ?? channel;
    };
    const extension = new Extension(identity, open, limits, handlers, VERSION, isHeir);
    const member: Member = {
      extension,
      source,
      isProjects,
      terms: this.termsOf(source, settings),
      made: undefined,
      circumstances: undefined,
      rights: undefined,
    };
    return member;
  }

  /** What of the settings an extension is made with. */
  termsOf({ name, path, kind, origin }: ExtensionSource, settings: ExtensionHostSettings): string {
    const isProvider = settings.allowProviders.includes(name);
    return JSON.stringify([name, path, kind, origin, limitsOf(settings, name), isProvider]);
  }

  /** Starts it, or leaves it asleep. `opened` and `ready` as `Extension.start` gives them. */
  start(member: Member): { opened: Promise<void>; ready: Promise<void> } {
    if (!this.#maySleep(member)) return this.#begin(member);
    const asleep = this.#findAsleep(member).catch(() => false);
    const started = asleep.then((found) => (found ? undefined : this.#begin(member)));
    return {
      opened: started.then((start) => start?.opened),
      ready: started.then((start) => start?.ready),
    };
  }

  #begin(member: Member): { opened: Promise<void>; ready: Promise<void> } {
    const start = member.extension.start();
    if (member.source.kind === "worker") return start;
    const printed = fingerprint(member.source.path).then((stamp) => {
      member.made = stamp === undefined ? undefined : { stamp, files: [] };
    });
    return { opened: start.opened, ready: Promise.all([start.ready, printed]).then(() => {}) };
  }

  /** One without which no tool may run must run, and one that is watched must be seen. */
  #maySleep({ source, extension }: Member): boolean {
    const { wrapChannel, circumstances } = this.#parts.options;
    return (
      source.kind === "worker" && !extension.limits.required && !wrapChannel && circumstances !== undefined
    );
  }

  async #findAsleep(member: Member): Promise<boolean> {
    const { path } = member.source;
    const { registrations, cache, options } = this.#parts;
    const found = await registrations.find(path, async () => {
      member.circumstances = options.circumstances!(member.source);
      const [bundle, circumstances] = await Promise.all([keptBundle(path, cache), member.circumstances]);
      return bundle && circumstances !== undefined ? { bundle, circumstances } : undefined;
    });
    if (!found || member.extension.state !== "starting") return false;
    member.made = madeOf(found.bundle, member.isProjects);
    member.extension.sleep(found.capabilities);
    return true;
  }

  /** It has said what it registers: keeps whether it can sleep the next time. */
  learn(member: Member): void {
    const { options, registrations } = this.#parts;
    const { extension, source, made } = member;
    const { capabilities, couldSleep } = extension;
    if (source.kind !== "worker" || !made || !capabilities) return;
    // What the user has answered while it loaded is part of them.
    member.circumstances = options.circumstances?.(source).catch(() => undefined);
    if (!member.circumstances || options.wrapChannel) return;
    const { stamp } = made;
    const work = member.circumstances
      .then((circumstances) => {
        if (circumstances === undefined) return;
        return registrations.keep(source.path, stamp, circumstances, couldSleep ? capabilities : undefined);
      })
      .finally(() => this.#learning.delete(work));
    this.#learning.add(work);
  }

  /** Resolves when everything is kept. */
  async settled(): Promise<void> {
    await Promise.all(this.#learning);
  }

  /**
   * Whether an extension is still what the session has, well, and under the same terms; for a module that is not, what it is made of now,
   * so that nothing is bundled twice.
   */
  async compare(member: Member, terms: string): Promise<{ isSame: boolean; bundle?: LoadedBundle }> {
    const { cache, options } = this.#parts;
    const { source, extension, made } = member;
    const before = await member.circumstances;
    const isWell = extension.state === "ready" && made !== undefined && member.terms === terms;
    if (source.kind === "process") {
      return { isSame: isWell && made.stamp === (await fingerprint(source.path)) };
    }
    const [bundle, circumstances] = await Promise.all([
      keptBundle(source.path, cache).then((kept) => kept ?? freshBundle(source.path, cache)),
      options.circumstances?.(source),
    ]).catch((error: unknown) => {
      log.debug(`extension ${source.name} can't be bundled: ${errorText(error)}`);
      return [];
    });
    if (!bundle) return { isSame: false };
    const isSame = isWell && made.stamp === bundle.stamp && before === circumstances;
    return isSame ? { isSame } : { isSame, bundle };
  }
}

function madeOf(bundle: LoadedBundle, isProjects: boolean): Made {
  const { stamp, files } = bundle;
  return { stamp, files, ...(isProjects ? { bundle } : {}) };
}

/** Of a program: another when the file is another, or has been written. */
async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeMs, ctimeMs, mode } = await stat(path);
    return [ino, size, mtimeMs, ctimeMs, mode].join(" ");
  } catch {
    return undefined;
  }
}

function limitsOf(
  { overrides, allowProviders: _, ...settings }: ExtensionHostSettings,
  name: string,
): ExtensionLimits & Pick<ExtensionHostSettings, "isolation" | "maxTimers" | "maxHeapBytes"> {
  const own = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  const required = own?.required === true || own?.onDeath === "deny";
  const onDeath = own?.onDeath ?? settings.onDeath;
  return { ...settings, ...own, required, onDeath: required && onDeath === "prune" ? "deny" : onDeath };
}
