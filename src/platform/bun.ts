import { fileURLToPath } from "node:url";
import type { GuestWorker, Platform } from "./index.ts";

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
    sourceTexts[name] ??= buildGuestSource(name);
    return sourceTexts[name];
  },
};

const sourceTexts: Record<string, Promise<string>> = {};

/**
 * Builds one of `GUEST_SOURCES` into a script whose value is the module's exports. Only our own sources and our own
 * dependencies go through here, never an extension.
 */
export async function buildGuestSource(name: string): Promise<string> {
  const { GUEST_SOURCES } = await import("../../sandbox/guest/packages.ts");
  const { checkSource } = await import("../../sandbox/guest/source-check.ts");
  const { disguise } = await import("../../sandbox/bundle/disguise.ts");
  const source = GUEST_SOURCES[name];
  if (!source) throw new Error(`no guest source ${name}`);
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const result = await Bun.build({
    entrypoints: [
      source.entry.startsWith("sandbox/") ? `${root}${source.entry}` : Bun.resolveSync(source.entry, root),
    ],
    format: "cjs",
    target: "browser",
    minify: true,
    env: "disable",
  });
  const output = result.outputs[0];
  if (!output) throw new Error(`the build of guest source ${name} gave nothing`);
  const code = (await output.text()).trim();
  const text = `(()=>{const module={exports:{}};const exports=module.exports;\n${code}\nreturn module.exports;})()`;
  // Checked here so that boot need not.
  const disguised = disguise(text, 0);
  checkSource(disguised);
  return disguised;
}

function guestWorker(worker: Worker): GuestWorker {
  let ended = false;
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (listener) => {
      worker.onmessage = (event: MessageEvent) => {
        if (!ended) listener(event.data);
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
