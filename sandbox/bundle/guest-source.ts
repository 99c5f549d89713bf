/** Our own texts for the compartment: see sandbox/guest/packages.ts. */
import type { Platform } from "../../src/platform/index.ts";
import { guestSourceName } from "../guest/source-names.ts";

/** The texts that a bundle needs, as far as its imports tell: the API, what is imported, and what that requires. */
export async function guestSourcesFor(
  platform: Pick<Platform, "guestSource">,
  bundle: { imports: readonly string[] },
): Promise<Record<string, string>> {
  const sources: Record<string, string> = {};
  const wanted = new Set<string>(["api"]);
  for (const specifier of bundle.imports) {
    const name = guestSourceName(specifier);
    if (name !== undefined) wanted.add(name);
  }
  // A set that grows while it is walked is walked to its end.
  for (const name of wanted) {
    const { text, requires } = await platform.guestSource(name);
    sources[name] = text;
    for (const other of requires) wanted.add(other);
  }
  return sources;
}
