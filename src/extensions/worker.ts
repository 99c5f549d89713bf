/**
 * The worker transport: an extension module, bundled and confined by SES in a worker (design.md, level `worker`).
 * Frames go in and come out as JSON text. What a guest sends can then be nothing but plain data of a known size, before a
 * schema has seen it; what it gets is what a process gets, and costs a third of the structured clone of an object.
 */
import { freshBundle, keptBundle } from "../../sandbox/bundle/cached.ts";
import { guestSourcesFor } from "../../sandbox/bundle/guest-source.ts";
import type { GuestMessage } from "../../sandbox/guest/protocol.ts";
import type { Cache } from "../base/cache.ts";
import { errorText, XdevError } from "../base/errors.ts";
import type { GuestWorker, Platform } from "../platform/index.ts";
import type { Channel, ChannelHandlers } from "./channel.ts";
import type { HostFrame } from "./frame.ts";

export interface WorkerChannelOptions {
  name: string;
  /** Canonical path of the module. */
  path: string;
  maxFrameBytes: number;
  cache: Cache;
  platform: Platform;
}

/**
 * Starts a worker for the extension, and gives its channel. The worker is the slowest part of a start, so it is the first;
 * what can be had at once of the bundle is there when the channel is opened.
 */
export async function workerChannel(options: WorkerChannelOptions): Promise<Channel> {
  const { path, platform, cache } = options;
  const starting = platform.startGuest();
  starting.catch(() => {});
  const kept = await keptBundle(path, cache);
  const sources = kept && (await guestSourcesFor(platform, kept));

  let worker: GuestWorker | undefined;
  let closed = false;
  let handlers: ChannelHandlers | undefined;
  /** Frames that are sent before the worker runs. */
  let waiting: HostFrame[] | undefined = [];

  const end = (): Promise<void> => {
    closed = true;
    return starting.then((guest) => guest.terminate()).catch(() => {});
  };
  const close = (reason: string): void => {
    if (closed) return;
    void end();
    handlers?.onClose({ reason });
  };

  const start = async (): Promise<void> => {
    const guest = await starting;
    guest.onMessage((message) => receive(message));
    guest.onExit(close);
    const bundle = kept ?? (await freshBundle(path, cache));
    const texts = sources ?? (await guestSourcesFor(platform, bundle));
    if (closed) return;
    worker = guest;
    guest.post({
      sources: texts,
      bundle: bundle.source,
      maxFrameChars: options.maxFrameBytes,
      about: { name: options.name, path },
    });
    for (const frame of waiting ?? []) guest.post(JSON.stringify(frame));
    waiting = undefined;
  };

  const receive = (message: unknown): void => {
    if (closed || !handlers) return;
    if (!isGuestMessage(message)) return handlers.onProblem("sent a message that is no frame");
    const [kind, text] = message;
    if (kind === "fatal") return close(text);
    if (kind === "log") return handlers.onLog(text);
    if (Buffer.byteLength(text) > options.maxFrameBytes) {
      return handlers.onProblem(`sent a frame longer than ${options.maxFrameBytes} bytes`);
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return handlers.onProblem("sent a frame that is not JSON");
    }
    handlers.onMessage(value);
  };

  return {
    open(given) {
      handlers = given;
      start().catch((error: unknown) => close(loadFailure(error)));
    },
    send(frame) {
      if (closed) return;
      if (waiting) waiting.push(frame);
      else worker?.post(JSON.stringify(frame));
    },
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

function isGuestMessage(message: unknown): message is GuestMessage {
  return (
    Array.isArray(message) &&
    message.length === 2 &&
    (message[0] === "frame" || message[0] === "fatal" || message[0] === "log") &&
    typeof message[1] === "string"
  );
}
