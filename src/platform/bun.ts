import { fileURLToPath } from "node:url";
import type { GuestSource } from "../../sandbox/guest/packages.ts";
import { carryGuest } from "./guest-carrier.ts";
import { HOST_ARGUMENT } from "./host-argument.ts";
import type { Platform } from "./index.ts";

/** Set to true by scripts/build. */
declare const XDEV_COMPILED: boolean | undefined;
const compiled = typeof XDEV_COMPILED !== "undefined" && XDEV_COMPILED;

export const platform: Platform = {
  runtime: "bun",
  compiled,
  endsLoops: true,

  async hostProgram() {
    if (compiled) return { file: process.execPath, args: [HOST_ARGUMENT] };
    const main = fileURLToPath(new URL("../main.ts", import.meta.url));
    return { file: process.execPath, args: ["--no-env-file", main, HOST_ARGUMENT] };
  },

  async bundle(entry, hooks) {
    const { bundle } = await import("./bun-bundle.ts");
    return bundle(entry, hooks);
  },

  async startGuest({ isSmall = false } = {}) {
    // In a compiled binary a worker's entry is found by its path from the build's root alone (design.md, decision 1).
    const entry = compiled
      ? "./sandbox/guest/boot.ts"
      : new URL("../../sandbox/guest/boot.ts", import.meta.url).href;
    // The worker's environment is empty: not even trusted code in it has a use for the user's.
    return carryGuest(new Worker(entry, { env: {}, name: "xdev-guest", smol: isSmall } as WorkerOptions));
  },

  async startBundler() {
    const entry = compiled
      ? "./sandbox/bundle/worker.ts"
      : new URL("../../sandbox/bundle/worker.ts", import.meta.url).href;
    // It must know the home folder, which is no extension's root, and nothing else. `smol`: it collects its garbage early,
    // which halves the memory that a large bundle takes and costs nothing else.
    const env = { HOME: process.env.HOME ?? "", USERPROFILE: process.env.USERPROFILE ?? "" };
    return (await import("./web-worker.ts")).ownWorker(entry, { name: "xdev-bundler", env, smol: true });
  },

  async startProgram() {
    return (await import("./bun-program.ts")).startProgram;
  },

  async guestSource(name) {
    if (compiled) {
      const { sources } = await import("xdev:guest-sources");
      const load = sources[name];
      if (load === undefined) throw new Error(`no guest source ${name} in this build`);
      return (await load()).default;
    }
    sourceTexts[name] ??= import("./guest-build.ts").then((build) => build.buildGuestSource(name));
    return sourceTexts[name];
  },
};

const sourceTexts: Record<string, Promise<GuestSource>> = {};
