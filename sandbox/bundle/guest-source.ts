/** Our own texts for the compartment: see sandbox/guest/packages.ts. */
import type { Platform } from "../../src/platform/index.ts";

/** The texts that a bundle needs: the API always, packages if it imports them. */
export async function guestSourcesFor(
  platform: Pick<Platform, "guestSource">,
  bundle: { source: string; imports: readonly string[] },
): Promise<Record<string, string>> {
  const names = ["api", ...PACKAGES.filter((name) => bundle.imports.includes(name))];
  // `pi.typebox` is a member, not an import: it is there for whoever names it.
  if (!names.includes("@sinclair/typebox") && bundle.source.includes("typebox"))
    names.push("@sinclair/typebox");
  const sources: Record<string, string> = {};
  await Promise.all(
    names.map(async (name) => {
      sources[name] = await platform.guestSource(name);
    }),
  );
  return sources;
}

const PACKAGES = ["typebox", "@sinclair/typebox"];
