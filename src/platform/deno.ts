import type { GuestSource } from "../../sandbox/guest/packages.ts";
import { errorText, XdevError } from "../base/errors.ts";
import type { Platform } from "./index.ts";

/** Deno runs the sources as they are (`deno.json`); an executable is Bun's. */
export const platform: Platform = {
  runtime: "deno",
  compiled: false,
  endsLoops: false,

  async bundle(entry, hooks) {
    const { bundle } = await import("./deno-bundle.ts");
    return bundle(entry, hooks);
  },

  /**
   * A worker of this process, for who asks for it: one that loops burns a processor until the process ends. It has no permission
   * all the same, which Deno gives with `--unstable-worker-options` only.
   */
  async startGuest() {
    const [{ bootText }, { carryGuest }] = await Promise.all([
      import("./deno-guest.ts"),
      import("./guest-carrier.ts"),
    ]);
    const url = URL.createObjectURL(new Blob([await bootText()], { type: "text/javascript" }));
    try {
      const options = { type: "module", name: "xdev-guest", deno: { permissions: "none" } };
      return carryGuest(new Worker(url, options as WorkerOptions));
    } catch (error) {
      throw new XdevError(
        "unsupported",
        `a worker without permissions cannot be started: ${errorText(error)}`,
        {
          hint: "start deno with --unstable-worker-options, or leave extensionHost.isolation as it is",
        },
      );
    } finally {
      // Fetched before the constructor returns, or never.
      setTimeout(() => URL.revokeObjectURL(url), 10_000).unref();
    }
  },

  async hostProgram() {
    return (await import("./deno-guest.ts")).denoHostProgram();
  },

  async startBundler() {
    const entry = new URL("../../sandbox/bundle/worker.ts", import.meta.url).href;
    return (await import("./web-worker.ts")).ownWorker(entry, { name: "xdev-bundler" });
  },

  async startProgram() {
    return (await import("./node-program.ts")).startProgram;
  },

  async guestSource(name) {
    sourceTexts[name] ??= Promise.all([import("./guest-build.ts"), import("./deno-guest.ts")]).then(
      ([{ buildGuestSource }, { linkWithEsbuild }]) => buildGuestSource(name, linkWithEsbuild),
    );
    return sourceTexts[name];
  },
};

const sourceTexts: Record<string, Promise<GuestSource>> = {};
