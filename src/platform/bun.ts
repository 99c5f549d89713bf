import type { GuestSource } from "../../sandbox/guest/packages.ts";
import type { BootMessage } from "../../sandbox/guest/protocol.ts";
import type { GuestWorker, Platform } from "./index.ts";
import { SyncReply } from "./sync-reply.ts";

/** Set to true by scripts/build. */
declare const XDEV_COMPILED: boolean | undefined;
const compiled = typeof XDEV_COMPILED !== "undefined" && XDEV_COMPILED;

export const platform: Platform = {
  runtime: "bun",
  compiled,

  async bundle(entry, hooks) {
    const { bundle } = await import("./bun-bundle.ts");
    return bundle(entry, hooks);
  },

  async startGuest() {
    // In a compiled binary a worker's entry is found by its path from the build's root alone (design.md, decision 1).
    const entry = compiled
      ? "./sandbox/guest/boot.ts"
      : new URL("../../sandbox/guest/boot.ts", import.meta.url).href;
    // The worker's environment is empty: not even trusted code in it has a use for the user's.
    return guestWorker(new Worker(entry, { env: {}, name: "xdev-guest" } as WorkerOptions));
  },

  async startProgram() {
    return (await import("./bun-program.ts")).startProgram;
  },

  async guestSource(name) {
    if (compiled) {
      const { sources } = await import("xdev:guest-sources");
      const text = sources[name];
      if (text === undefined) throw new Error(`no guest source ${name} in this build`);
      return text;
    }
    sourceTexts[name] ??= import("./guest-build.ts").then((build) => build.buildGuestSource(name));
    return sourceTexts[name];
  },
};

const sourceTexts: Record<string, Promise<GuestSource>> = {};

function guestWorker(worker: Worker): GuestWorker {
  let ended = false;
  const reply = new SyncReply();
  return {
    post: (message) => {
      if (typeof message === "string") return worker.postMessage(message);
      if (!Array.isArray(message)) {
        return worker.postMessage({ ...(message as BootMessage), shared: reply.shared });
      }
      if (message[1] === 0) reply.answer(message[2]);
      else worker.postMessage(message);
    },
    onMessage: (listener) => {
      worker.onmessage = (event: MessageEvent) => {
        if (ended) return;
        if (Array.isArray(event.data) && event.data[0] === "more") reply.more();
        else listener(event.data);
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
      worker.addEventListener("close", () => end("ended by itself"));
    },
    async terminate() {
      ended = true;
      worker.terminate();
    },
  };
}

/** Bun reports an uncaught error with an excerpt of the source before it. */
function uncaught(report: string): string {
  return /^\w*Error: .*/m.exec(report)?.[0] ?? report;
}
