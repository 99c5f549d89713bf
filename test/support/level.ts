/**
 * Where the guests of this test run are: scripts/test runs the sandbox's tests once for each level, by the variable `XDEV_TEST_LEVEL`.
 */
import { DEFAULT_SETTINGS, type ExtensionHostSettings } from "../../src/config/settings.ts";

const given = process.env.XDEV_TEST_LEVEL;

export const TEST_LEVEL: ExtensionHostSettings["isolation"] =
  given === "worker" || given === "host" ? given : "auto";

/** The settings without a file, at that level. */
export const TEST_SETTINGS: ExtensionHostSettings = {
  ...DEFAULT_SETTINGS.extensionHost,
  isolation: TEST_LEVEL,
};
