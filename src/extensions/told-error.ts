/** An error as an extension may read it. */

import { errorText, XdevError } from "../base/errors.ts";
import { redact } from "../base/log.ts";

/** What is wrong with a file of the user's is told in its own words, and a key may stand where none is looked for. */
const ABOUT_FILES: ReadonlySet<string> = new Set(["bad-models-file", "bad-settings", "bad-replay-file"]);

/** Its text, without the secrets that are known and without what stands in the user's files. */
export function toldError(error: unknown): string {
  if (error instanceof XdevError && ABOUT_FILES.has(error.code)) {
    return "a file of the user's settings can't be used: `xdev models` tells him what is wrong";
  }
  // What a server or a program says of a failure may hold a key.
  return redact(errorText(error));
}
