import type { ExtensionHostSettings } from "../../src/config/settings.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import type { Authority } from "../../src/extensions/worker.ts";
import { TEST_SETTINGS } from "./level.ts";

/** Of a module that may change calls and nothing else. */
export const CHANGES_CALLS: Authority = {
  rights: {
    demand: async ({ kind }) => {
      if (kind !== "tools") throw new Error(`no right ${kind} in this test`);
    },
    has: () => false,
    keepsBelow: () => false,
  },
  broker: {
    call: async () => ({
      error: JSON.stringify({ code: "EACCES", message: "no system calls in this test" }),
    }),
    close: async () => {},
  },
  about: {
    ...{ cwd: "/", env: {}, platform: process.platform, arch: process.arch, pid: 1 },
    ...{ home: "/", tmp: "/", data: "/", wasm: false },
  },
};

/** Of a module that may change the conversation and nothing else. */
const CHANGES_SESSION: Authority = {
  ...CHANGES_CALLS,
  rights: {
    demand: async ({ kind }) => {
      if (kind !== "session") throw new Error(`no right ${kind} in this test`);
    },
    has: ({ kind }) => kind === "session",
    keepsBelow: () => false,
  },
};

/** A manager with what it said: `await using` ends its extensions. */
export interface Loaded extends AsyncDisposable {
  manager: ExtensionManager;
  notices: string[];
  notifications: string[];
  actions: string[];
}

/** Loads extensions by their paths, as a session would, without rights but those of `may`. */
export async function loadExtensions(
  paths: readonly string[],
  settings: Partial<ExtensionHostSettings> = {},
  may: { changeCalls?: boolean; changeSession?: boolean } = {},
): Promise<Loaded> {
  const notices: string[] = [];
  const notifications: string[] = [];
  const actions: string[] = [];
  const manager = await ExtensionManager.load({
    sources: (await Promise.all(paths.map(identifyExtensions))).flat(),
    settings: { ...TEST_SETTINGS, ...settings },
    env: process.env,
    ...(may.changeCalls ? { authority: async () => CHANGES_CALLS } : {}),
    ...(may.changeSession ? { authority: async () => CHANGES_SESSION } : {}),
    host: {
      notice: (text) => void notices.push(text),
      notify: (extension, message, level) => void notifications.push(`${extension} ${level} ${message}`),
      action: (extension, frame) => void actions.push(`${extension} ${frame.action} ${frame.text ?? ""}`),
    },
  });
  return { manager, notices, notifications, actions, [Symbol.asyncDispose]: () => manager.stop() };
}
