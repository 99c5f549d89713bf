/**
 * The worker transport: an extension module, bundled and confined by SES in a worker (design.md, level `worker`).
 * Frames go in as objects and come out as JSON text: what a guest sends can then be nothing but plain data of
 * a known size, before a schema has seen it.
 */
import type { GuestMessage } from "../../sandbox/guest/protocol.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { type GuestWorker, loadPlatform } from "../platform/index.ts";
import type { Channel, ChannelHandlers } from "./channel.ts";
import type { HostFrame } from "./frame.ts";

export interface WorkerChannelOptions {
  name: string;
  /** Canonical path of the module. */
  path: string;
  maxFrameBytes: number;
}

export function workerChannel(options: WorkerChannelOptions): Channel {
  let worker: GuestWorker | undefined;
  let closed = false;
  let handlers: ChannelHandlers | undefined;
  /** Frames that are sent before the worker runs. */
  let waiting: HostFrame[] | undefined = [];

  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    void worker?.terminate();
    handlers?.onClose({ reason });
  };

  const start = async (): Promise<void> => {
    const [platform, { bundleExtension }] = await Promise.all([
      loadPlatform(),
      import("../../sandbox/bundle/index.ts"),
    ]);
    const { guestSourcesFor } = await import("../../sandbox/bundle/guest-source.ts");
    const started = platform.startGuest();
    const bundle = await bundleExtension(options.path).catch(async (error: unknown) => {
      await (await started).terminate();
      throw error;
    });
    const sources = await guestSourcesFor(platform, bundle);
    const guest = await started;
    if (closed) return void guest.terminate();
    worker = guest;
    guest.onMessage((message) => receive(message));
    guest.onExit(close);
    guest.post({
      sources,
      bundle: bundle.source,
      maxFrameChars: options.maxFrameBytes,
      about: { name: options.name, path: options.path },
    });
    for (const frame of waiting ?? []) guest.post(frame);
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
      else worker?.post(frame);
    },
    async close() {
      // A guest has nothing to save that is not with the host already; there is no polite way that it could not ignore.
      closed = true;
      await worker?.terminate();
    },
    async kill() {
      closed = true;
      await worker?.terminate();
    },
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
