/**
 * The worker transport: an extension module, bundled and confined by SES in a worker (design.md, level `worker`).
 * Frames go in and come out as JSON text. What a guest sends can then be nothing but plain data of a known size, before a
 * schema has seen it; what it gets is what a process gets, and costs a third of the structured clone of an object.
 */

import type { Rights } from "../../sandbox/broker/broker.ts";
import type { Broker } from "../../sandbox/broker/index.ts";
import { freshBundle, keptBundle, type LoadedBundle } from "../../sandbox/bundle/cached.ts";
import { BUNDLE_URL } from "../../sandbox/bundle/frames.ts";
import { guestSourcesFor } from "../../sandbox/bundle/guest-source.ts";
import { type About, type CallReturn, type GuestMessage, HOST_CALL } from "../../sandbox/guest/protocol.ts";
import { guestSourceName } from "../../sandbox/guest/source-names.ts";
import type { Cache } from "../base/cache.ts";
import { MAX_VALUES } from "../base/data-size.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { randomHex } from "../base/random.ts";
import { jsonSlowly } from "../base/slices.ts";
import type { GuestEnd, GuestWorker, Platform } from "../platform/index.ts";
import type { Channel, ChannelHandlers } from "./channel.ts";
import type { HostFrame } from "./frame.ts";
import { Rate } from "./rate.ts";
import { holdsTooMany } from "./value-count.ts";

export interface WorkerChannelOptions {
  name: string;
  /** Canonical path of the module. */
  path: string;
  maxFrameBytes: number;
  maxTimers: number;
  cache: Cache;
  platform: Platform;
  /** What it is made of, if that has just been found out. */
  bundle?: LoadedBundle | undefined;
  /** Told what it is made of. */
  onBundle?: ((bundle: LoadedBundle) => void) | undefined;
  /**
   * What it may do, once its bundle is known: the broker of its system calls, and what it is told of where it runs. Without
   * it, it has no system calls. `onAsking` is called when that takes an answer of the user.
   */
  authority?: (bundle: LoadedBundle, onAsking: () => void) => Promise<Authority>;
}

export interface Authority {
  rights: Rights;
  broker: Broker;
  about: Omit<About, "name" | "path">;
}

const NOWHERE: Omit<About, "name" | "path"> = {
  cwd: "/",
  env: {},
  platform: process.platform,
  arch: process.arch,
  pid: 1,
  home: "/",
  tmp: "/",
  data: "/",
  wasm: false,
};

/**
 * Starts a worker for the extension, and gives its channel. The worker is the slowest part of a start, so it is the first;
 * what can be had at once of the bundle is there when the channel is opened.
 */
export async function workerChannel(options: WorkerChannelOptions): Promise<Channel> {
  const { path, platform, cache } = options;
  const starting = platform.startGuest();
  starting.catch(() => {});
  const kept = options.bundle ?? (await keptBundle(path, cache));
  const sources = kept && (await guestSourcesFor(platform, kept));
  const asking = Promise.withResolvers<void>();
  const early = kept && options.authority?.(kept, asking.resolve);
  early?.catch(() => {});
  // Whatever else there is to start would come between.
  if (early) await Promise.race([early.catch(() => {}), asking.promise]);

  let worker: GuestWorker | undefined;
  let broker: Broker | undefined;
  let authorPlaces: LoadedBundle["authorPlaces"] | undefined;
  let closed = false;
  let handlers: ChannelHandlers | undefined;
  /** Frames that are sent before the worker runs. */
  let waiting: HostFrame[] | undefined = [];

  const end = (): Promise<void> => {
    closed = true;
    // An answer of the user that is still to come is not waited for.
    if (!broker) void early?.then((authority) => authority.broker.close()).catch(() => {});
    return Promise.all([starting.then((guest) => guest.terminate()), broker?.close()]).then(
      () => {},
      () => {},
    );
  };
  const close = (reason: string, after?: GuestEnd): void => {
    if (closed) return;
    void end();
    handlers?.onClose({ reason, ...after });
  };

  const start = async (): Promise<void> => {
    const guest = await starting;
    guest.onMessage((message) => receive(message));
    guest.onExit(close);
    const bundle = kept ?? (await ownBundle());
    options.onBundle?.(bundle);
    const texts = sources ?? (await guestSourcesFor(platform, bundle));
    const authority = await (early ?? options.authority?.(bundle, () => {}));
    broker = authority?.broker;
    authorPlaces = bundle.authorPlaces;
    if (closed) return void broker?.close();
    worker = guest;
    guest.post({
      sources: texts,
      bundle: bundle.source,
      maxFrameChars: options.maxFrameBytes,
      maxTimers: options.maxTimers,
      about: { ...(authority?.about ?? NOWHERE), name: options.name, path },
    });
    for (const frame of waiting ?? []) guest.post(JSON.stringify(frame));
    waiting = undefined;
  };

  /** One extension is bundled after the other: how long those before it take is not its fault. */
  const ownBundle = (): Promise<LoadedBundle> => {
    const release = handlers?.hold?.();
    return freshBundle(path, cache, release).finally(release);
  };

  /** Long frames are looked at a piece at a time; what comes after one waits for it. */
  let looking: Promise<void> | undefined;
  const bytes = new Rate(options.maxFrameBytes);

  const receive = (message: unknown): void | Promise<void> => {
    if (closed || !handlers) return;
    // For whoever watches its memory.
    if (Array.isArray(message) && message[0] === "pong") return;
    if (!isGuestMessage(message)) return handlers.onProblem("sent a message that is no frame");
    if (message[0] === "call") return void answer(message);
    const [kind, text] = message;
    if (kind === "fatal") return placed(text, close);
    if (kind === "log") return placed(text, (line) => handlers?.onLog(line));
    const length = Buffer.byteLength(text);
    if (length > options.maxFrameBytes) {
      return handlers.onProblem(`sent a frame longer than ${options.maxFrameBytes} bytes`);
    }
    if (!bytes.take(length)) {
      const most = options.maxFrameBytes;
      return handlers.onProblem(`sent more than ${most} bytes in a second (extensionHost.maxFrameBytes)`);
    }
    if (!looking && text.length < LONG_CHARS) return deliver(text);
    const look = (looking ?? Promise.resolve()).then(async () => {
      const isTooMuch = text.length >= LONG_CHARS && (await holdsTooMany(text, 2 * MAX_VALUES));
      if (looking === look) looking = undefined;
      if (closed) return;
      if (isTooMuch) handlers?.onProblem(`sent a frame that holds more than ${MAX_VALUES} values`);
      else await deliver(text);
    });
    looking = look;
    return look;
  };

  const deliver = (text: string): void | Promise<void> => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return handlers?.onProblem("sent a frame that is not JSON");
    }
    const { type, text: line } = (value ?? {}) as { type?: unknown; text?: unknown };
    if (type !== "log" || typeof line !== "string") return handlers?.onMessage(value);
    return placed(line, (said) => handlers?.onMessage({ ...(value as object), text: said }));
  };

  /** Gives `use` the beginning of a text for people, with the author's file in the place of the bundle. */
  const placed = (whole: string, use: (text: string) => void): void | Promise<void> => {
    const text = whole.slice(0, TOLD_CHARS);
    if (!authorPlaces || !text.includes(`${BUNDLE_URL}:`)) return use(text);
    return authorPlaces(text)
      .catch(() => text)
      .then((result) => {
        if (!closed) use(result);
      });
  };

  const answer = async ([, id, operation, text, bytes]: CallMessage): Promise<void> => {
    const reply = await carryOut(operation, text, bytes);
    if (!closed) worker?.post(["return", id, reply]);
  };

  /** Names of our own texts that were asked for. */
  const given = new Set<string>();
  let calls = 0;
  const carryOut = async (operation: string, text: string, bytes?: Uint8Array): Promise<CallReturn> => {
    if (operation === "guest.source") return guestSource(platform, text, given);
    calls++;
    if (operation === HOST_CALL) return hostCall(text);
    if (!broker) return failure("EACCES", "this extension has no system calls");
    // A copy: what a worker sends may be memory that it can still change.
    return broker.call(operation, text, bytes && new Uint8Array(bytes));
  };

  /** Calls of the protocol that the guest waits for, by the ids that they have here: it can't send frames meanwhile. */
  const awaited = new Map<string, (frame: { result?: unknown; error?: string }) => void>();
  const hostCall = async (text: string): Promise<CallReturn> => {
    if (!handlers) return failure("EIO", "the host is not there");
    const length = Buffer.byteLength(text);
    const isTooMuch =
      length > options.maxFrameBytes ||
      !bytes.take(length) ||
      (text.length >= LONG_CHARS && (await holdsTooMany(text, 2 * MAX_VALUES)));
    if (isTooMuch) return failure("E2BIG", "a call is as long as a frame may be, and holds as many values");
    let asked: { method?: unknown; params?: unknown };
    try {
      asked = JSON.parse(text) as { method?: unknown; params?: unknown };
    } catch {
      return failure("EINVAL", "a call is JSON");
    }
    const id = `awaited-${randomHex(8)}`;
    const answered = new Promise<{ result?: unknown; error?: string }>((resolve) => awaited.set(id, resolve));
    const { method, params } = asked ?? {};
    handlers.onMessage({ type: "call", id, method, ...(params === undefined ? {} : { params }) });
    const { result, error } = await answered;
    if (error !== undefined) return failure("EHOST", error);
    try {
      // A session's entries may be many.
      return { text: Array.isArray(result) ? await jsonSlowly(result) : JSON.stringify(result ?? null) };
    } catch (problem) {
      return failure("EHOST", errorText(problem));
    }
  };

  return {
    open(given) {
      handlers = given;
      start().catch((error: unknown) => close(loadFailure(error)));
    },
    send(frame) {
      if (closed) return;
      const resolve = frame.type === "return" ? awaited.get(String(frame.id)) : undefined;
      if (resolve && frame.type === "return") {
        awaited.delete(String(frame.id));
        return resolve(frame);
      }
      if (waiting) waiting.push(frame);
      else worker?.post(JSON.stringify(frame));
    },
    calls: () => calls,
    // A guest has nothing to save that is not with the host already; there is no polite way that it could not ignore.
    close: end,
    kill: end,
  };
}

function loadFailure(error: unknown): string {
  return error instanceof XdevError && error.code.startsWith("bundle-")
    ? `could not be bundled: ${errorText(error)}`
    : `could not be started: ${errorText(error)}`;
}

/** A frame that is worth looking at before it is parsed: parsing a shorter one takes a few ms at most. */
const LONG_CHARS = 128 * 1024;

/** As much of a line or a reason as is looked at: more than is shown of it. */
const TOLD_CHARS = 8000;

type CallMessage = Extract<GuestMessage, readonly ["call", ...unknown[]]>;

/** One of our own texts, for boot, which keeps it: each is `given` once. */
async function guestSource(platform: Platform, args: string, given: Set<string>): Promise<CallReturn> {
  try {
    const { name } = JSON.parse(args) as { name: unknown };
    const known = guestSourceName(String(name));
    if (known === undefined || given.has(known)) return failure("ENOENT", "there is no such module");
    given.add(known);
    return { text: JSON.stringify((await platform.guestSource(known)).text) };
  } catch (error) {
    return failure("EIO", errorText(error));
  }
}

function failure(code: string, message: string): CallReturn {
  return { error: JSON.stringify({ code, message }) };
}

function isGuestMessage(message: unknown): message is Exclude<GuestMessage, readonly ["pong", ...unknown[]]> {
  if (!Array.isArray(message)) return false;
  const [kind, first] = message as unknown[];
  if (kind === "call") {
    const [, , operation, text, bytes] = message as unknown[];
    return (
      message.length === 5 &&
      Number.isSafeInteger(first) &&
      (first as number) >= 0 &&
      typeof operation === "string" &&
      typeof text === "string" &&
      (bytes === undefined || bytes instanceof Uint8Array)
    );
  }
  return (
    message.length === 2 &&
    (kind === "frame" || kind === "fatal" || kind === "log") &&
    typeof first === "string"
  );
}
