/**
 * A guest's worker as whoever started it sees it: shared memory for answers that the worker waits for, and for the count of what
 * has been dealt with, so that it never sends faster than its messages are handled. The same for Bun and Deno.
 */
import type { BootMessage } from "../../sandbox/guest/protocol.ts";
import type { GuestWorker } from "./index.ts";
import { SyncReply } from "./sync-reply.ts";

export function carryGuest(worker: Worker): GuestWorker {
  let ended = false;
  const reply = new SyncReply();
  const closed = new Promise<void>((resolve) => worker.addEventListener("close", () => resolve()));
  return {
    closed,
    post: (message) => {
      if (ended) return;
      if (typeof message === "string") return worker.postMessage(message);
      if (!Array.isArray(message)) {
        return worker.postMessage({ ...(message as BootMessage), shared: reply.shared });
      }
      if (message[0] === "return" && message[1] === 0) reply.answer(message[2]);
      else worker.postMessage(message);
    },
    onMessage: (listener) => {
      worker.onmessage = ({ data }: MessageEvent) => {
        if (ended) return;
        if (Array.isArray(data) && data[0] === "more") return reply.more();
        const handled = listener(data);
        if (Array.isArray(data) && data[0] === "pong") return;
        const length = lengthOf(data);
        const done = (): void => reply.handled(length);
        if (handled) void handled.then(done, done);
        else done();
      };
    },
    onExit: (listener) => {
      const end = (reason: string) => {
        if (ended) return;
        ended = true;
        listener(reason);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        end(`failed: ${uncaught(event.message)}`);
        worker.terminate();
      };
      void closed.then(() => end("ended by itself"));
    },
    // Whoever needs to know when it is really over waits for `closed`: a session that ends has no reason to.
    async terminate() {
      ended = true;
      worker.terminate();
    },
  };
}

/** As boot counts it. */
function lengthOf(data: unknown): number {
  if (!Array.isArray(data)) return 0;
  const [kind, text, , args, bytes] = data as unknown[];
  if (kind !== "call") return typeof text === "string" ? text.length : 0;
  return (typeof args === "string" ? args.length : 0) + (bytes instanceof Uint8Array ? bytes.length : 0);
}

/** Bun reports an uncaught error with an excerpt of the source before it. */
function uncaught(report: string): string {
  return /^\w*Error: .*/m.exec(report)?.[0] ?? report;
}
