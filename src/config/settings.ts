/**
 * `<dataDir>/config.yml`. Only the user's data dir is read: a repository has no settings until it is trusted.
 * zod and yaml load only if the file exists.
 */
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import type { Settings } from "./schema.ts";

export type { Settings } from "./schema.ts";
export type ExtensionHostSettings = Settings["extensionHost"];

/** The settings without a file. The schema's defaults are these (a test compares them). */
export const DEFAULT_SETTINGS: Settings = {
  extensionHost: {
    handshakeTimeoutMs: 10_000,
    eventTimeoutMs: 5_000,
    toolTimeoutMs: 600_000,
    maxFrameBytes: 8 * 1024 * 1024,
    onDeath: "prune",
    isolation: "auto",
    maxHeapBytes: 64 * 1024 * 1024,
    maxFramesPerSecond: 1000,
    maxLogBytesPerSecond: 1024 * 1024,
    maxTimers: 10_000,
    maxPendingCalls: 256,
    maxOpenFiles: 256,
    allowProviders: [],
    overrides: {},
  },
  extensions: [],
  disabledExtensions: [],
  session: {
    retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000 },
    compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 },
  },
  hooks: {},
};

/** Reads the settings. Throws `XdevError` with code `bad-settings`, naming the file and the member that is wrong. */
export async function loadSettings(dataDir: string): Promise<Settings> {
  const file = join(dataDir, "config.yml");
  let text: string;
  try {
    // At once: most have none, and each start goes through here.
    statSync(file);
    text = await readFile(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return DEFAULT_SETTINGS;
    throw new XdevError("bad-settings", `cannot read ${file}: ${errorText(error)}`);
  }
  return parseSettings(text, file);
}

/** The settings in the text of a config.yml; `file` names it in messages. Throws like `loadSettings`. */
export async function parseSettings(text: string, file: string): Promise<Settings> {
  const [{ parseFile }, { settingsSchema }] = await Promise.all([
    import("./parse.ts"),
    import("./schema.ts"),
  ]);
  return (await parseFile(text, settingsSchema, file, "bad-settings")).value;
}
