import { XdevError } from "../base/errors.ts";
import type { Platform } from "./index.ts";

/** Deno runs the sources as they are (`deno.json`); an executable is Bun's. */
export const platform: Platform = {
  runtime: "deno",
  compiled: false,

  async bundle(entry, hooks) {
    const { bundle } = await import("./deno-bundle.ts");
    return bundle(entry, hooks);
  },

  async startGuest() {
    throw new XdevError(
      "unsupported",
      "sandboxed TypeScript extensions need the extension host under Deno, which this version does not have: a worker that hangs cannot be ended there",
      { hint: "use the executable, or start with --no-extensions" },
    );
  },

  async startProgram() {
    return (await import("./node-program.ts")).startProgram;
  },

  async guestSource(name) {
    throw new XdevError("unsupported", `guest source ${name} cannot be built under Deno in this version`);
  },
};
