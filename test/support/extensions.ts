import type { ExtensionHostSettings } from "../../src/config/settings.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import { TEST_SETTINGS } from "./level.ts";

/** A manager with what it said: `await using` ends its extensions. */
export interface Loaded extends AsyncDisposable {
  manager: ExtensionManager;
  notices: string[];
  notifications: string[];
  actions: string[];
}

/** Loads extensions by their paths, as a session would. */
export async function loadExtensions(
  paths: readonly string[],
  settings: Partial<ExtensionHostSettings> = {},
): Promise<Loaded> {
  const notices: string[] = [];
  const notifications: string[] = [];
  const actions: string[] = [];
  const manager = await ExtensionManager.load({
    sources: (await Promise.all(paths.map(identifyExtensions))).flat(),
    settings: { ...TEST_SETTINGS, ...settings },
    env: process.env,
    host: {
      notice: (text) => void notices.push(text),
      notify: (extension, message, level) => void notifications.push(`${extension} ${level} ${message}`),
      action: (extension, frame) => void actions.push(`${extension} ${frame.action} ${frame.text ?? ""}`),
    },
  });
  return { manager, notices, notifications, actions, [Symbol.asyncDispose]: () => manager.stop() };
}
