/**
 * From a path as the extension wrote it to the canonical place that the rights decide on, and what is refused whatever they say:
 * the processes in `/proc`, devices but the harmless ones, hard links of the agent's own secrets, and moving or
 * removing a folder that the data dir is in. Nothing here tells a path that may not be read from one that does not exist.
 */
import { mkdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { canonicalPath, isInside } from "../../src/base/files.ts";
import { hardLinkGuard } from "../permissions/floor.ts";
import { type CallContext, CallError } from "./broker.ts";
import { type Asked, fsError, toCallError } from "./fs-errors.ts";
import { type Held, hold, holdAllowed, Moved } from "./fs-hold.ts";

/** Linux's PATH_MAX less the end. */
const MAX_PATH_BYTES = 4095;

/** How often a place is decided on anew when it moves under our hands, before the call is refused. */
const TRIES = 50;

/** The devices that may be opened, if the rights allow it: they have no state, and never block. */
const DEVICES: ReadonlySet<string> = new Set(
  ["null", "zero", "full", "random", "urandom"].map((n) => `/dev/${n}`),
);

export interface Place {
  /** Canonical: what is compared and acted on. */
  readonly path: string;
  /** Absolute, as the extension wrote it: what it may be told. */
  readonly written: string;
  /** It was written with a separator at its end: only a folder may be there. */
  readonly asFolder: boolean;
}

/**
 * Runs an operation; once more from the start when what it was about moved meanwhile. What it throws comes out as an error
 * that the extension may see.
 */
export async function attempt<T>(asked: Asked, run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof Moved)) throw toCallError(error, asked);
      if (tries >= TRIES) throw fsError("EACCES", asked, ": it keeps changing");
    }
  }
}

/**
 * Where a path leads, decided on: `rights` are demanded in order. `follow`: whether a link in the last place is followed.
 * Throws the refusal before anything that would tell what is there.
 */
export async function locate(
  context: CallContext,
  asked: Asked,
  path: string,
  follow: boolean,
  ...rights: ("read" | "write")[]
): Promise<Place> {
  checkForm(path, asked);
  const written = resolve(context.folders.cwd, path);
  if (isInside(written, context.folders.data)) await makeStorage(context);
  const place = { path: written, written, asFolder: isWrittenAsFolder(path) };
  let failure: unknown;
  try {
    const isNamed = !follow && dirname(written) !== written;
    place.path = isNamed
      ? join(await canonicalPath(dirname(written)), basename(written))
      : await canonicalPath(written);
  } catch (error) {
    // A loop of links, or a folder closed to the agent itself. Only who could read it is told.
    failure = error;
  }
  for (const kind of rights) await demand(context, asked, kind, place);
  if (failure) throw failure;
  return place;
}

export interface Found {
  readonly place: Place;
  /** Held already, and to be released by the caller. */
  readonly held?: Held;
}

/**
 * As `locate`, with what is there held where that takes no question: it is held first and decided on by the name that the kernel
 * has for it, which saves a third of the time. What is not granted, or not there, goes the long way.
 */
export async function find(
  context: CallContext,
  asked: Asked,
  path: string,
  follow: boolean,
  ...rights: ("read" | "write")[]
): Promise<Found> {
  checkForm(path, asked);
  const written = resolve(context.folders.cwd, path);
  if (isInside(written, context.folders.data)) await makeStorage(context);
  const mayBe = (at: string): boolean =>
    !isElsewhere(at) && rights.every((kind) => context.rights.has({ kind, path: at }));
  const held = isElsewhere(written) ? undefined : await holdAllowed(written, follow, mayBe);
  if (!held) return { place: await locate(context, asked, path, follow, ...rights) };
  const place = { path: held.path, written, asFolder: isWrittenAsFolder(path) };
  try {
    for (const kind of rights) await demand(context, asked, kind, place);
    return { place, held };
  } catch (error) {
    await held[Symbol.asyncDispose]();
    throw error;
  }
}

const isWrittenAsFolder = (path: string): boolean => /[/\\]\.?$/.test(path);

async function demand(
  context: CallContext,
  asked: Asked,
  kind: "read" | "write",
  place: Place,
): Promise<void> {
  if (isElsewhere(place.written) || isElsewhere(place.path)) throw fsError("EACCES", asked);
  try {
    // Where a link leads is not for who may not go there; nor whether there is a link.
    await context.rights.demand({ kind, path: place.path, written: place.written });
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== "EACCES") throw error;
    const reason = error.message.replace(/^EACCES: (permission denied)?[,:; ]*/, "");
    const refusal = fsError("EACCES", asked, reason === "" ? "" : `: ${reason}`);
    throw new CallError("EACCES", refusal.message, { ...error.details, ...refusal.details });
  }
}

/** Whether `kind` is allowed for a place that a walk came to; it is demanded (and so asked for and noted) only if it is not granted yet. */
export async function demandBelow(
  context: CallContext,
  asked: Asked,
  kind: "read" | "write",
  path: string,
): Promise<void> {
  if (!isElsewhere(path) && context.rights.has({ kind, path })) return;
  await demand(context, asked, kind, { path, written: path, asFolder: false });
}

/** Holds what is at a place that was found. Throws `ENOTDIR` for a separator after something that is no folder. */
export async function holdPlace({ place, held: there }: Found, asked: Asked): Promise<Held> {
  const held = there ?? (await hold(place.path));
  if (!place.asFolder || held.info.isDirectory()) return held;
  await held[Symbol.asyncDispose]();
  throw fsError("ENOTDIR", asked);
}

/**
 * Throws for what may not be opened: anything but files, folders and the harmless devices, and a file that is also one of the
 * agent's own secrets by another name. `Moved` for a link, since a canonical path has none.
 */
export async function checkOpenable({ info, path }: Held, asked: Asked, context: CallContext): Promise<void> {
  if (info.isSymbolicLink()) throw new Moved();
  if (info.isDirectory()) return;
  if (info.isFile()) {
    if (await guardOf(context)(info)) throw fsError("EACCES", asked);
    return;
  }
  if (info.isCharacterDevice() && DEVICES.has(path)) return;
  throw fsError("EACCES", asked, ": it is neither a file nor a folder");
}

/**
 * Throws if the place may not be moved or removed: with it would go the data dir, or what the user denied for good, out of the reach of
 * the rules about it.
 */
export function checkMovable({ path }: Place, asked: Asked, { folders, rights }: CallContext): void {
  if (isInside(folders.dataDir, path) || rights.keepsBelow?.(path)) throw fsError("EACCES", asked);
}

/**
 * Throws for the harmless devices: they may be read and written by anybody, and who runs as root must not change, move or remove
 * them for the whole machine.
 */
export function checkNoDevice({ path }: { path: string }, asked: Asked): void {
  if (DEVICES.has(path)) throw fsError("EACCES", asked);
}

/** Throws for what has no mode and times of its own to change: anything but files and folders. */
export function checkChangeable(info: { isFile(): boolean; isDirectory(): boolean }, asked: Asked): void {
  if (!info.isFile() && !info.isDirectory()) {
    throw fsError("EACCES", asked, ": it is neither a file nor a folder");
  }
}

/**
 * Paths that the rights are not asked about: the folders of processes hold their memory, environment and open files; what the
 * names in /dev lead to depends on what the agent has open; and macOS has names under which everything is there once more.
 */
const isElsewhere = (path: string): boolean =>
  /^\/(proc\/(\d+|self|thread-self)|dev\/(fd|std(in|out|err)))(\/|$)/.test(path) ||
  (process.platform === "darwin" && /^\/(\.(vol|nofollow|resolve)|system\/volumes)(\/|$)/i.test(path));

function checkForm(path: string, asked: Asked): void {
  if (path === "") throw fsError("ENOENT", asked);
  if (path.includes("\0")) {
    throw new CallError("ERR_INVALID_ARG_VALUE", "a path must not have a null byte in it");
  }
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw fsError("ENAMETOOLONG", asked);
  if (process.platform === "win32" && isDisguised(path)) throw fsError("EINVAL", asked);
}

/** Windows: streams of a file (`f:s`), devices and shares (`\\\\.\\x`), and names that lose their end (`f. `). */
function isDisguised(path: string): boolean {
  if (/^[/\\]{2}/.test(path)) return true;
  const names = path.replace(/^[a-z]:/i, "").split(/[/\\]/);
  return names.some((name) => name.includes(":") || (/[. ]$/.test(name) && name !== "." && name !== ".."));
}

const storages = new WeakMap<CallContext, Promise<unknown>>();

/** Makes the extension's own folder when it is first used. If that fails, what is done there will say so. */
function makeStorage(context: CallContext): Promise<unknown> {
  let made = storages.get(context);
  made ??= mkdir(context.folders.data, { recursive: true, mode: 0o700 }).catch(() => {});
  storages.set(context, made);
  return made;
}

const guards = new WeakMap<CallContext, ReturnType<typeof hardLinkGuard>>();

/** What knows the data dir's own files by their inodes. */
function guardOf(context: CallContext): ReturnType<typeof hardLinkGuard> {
  let guard = guards.get(context);
  guard ??= hardLinkGuard(context.folders);
  guards.set(context, guard);
  return guard;
}
