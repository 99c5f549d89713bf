/** Finds what an extension's package.json declares. The schema loads only if it declares something. */
import { join } from "node:path";
import { XdevError } from "../../src/base/errors.ts";
import { Reader } from "../bundle/files.ts";
import { packageRoot, readPackage } from "../bundle/root.ts";
import { isRecord } from "./json.ts";
import { misplaced } from "./misplaced.ts";

/**
 * `xdev.permissions` of the package that the entry (canonical) belongs to; undefined if it declares none. Throws `XdevError`
 * `not-an-extension` for one that its schema refuses: an extension is not loaded with half of what it asked for.
 */
export async function declaredPermissions(entry: string): Promise<unknown> {
  const { root } = await packageRoot(entry);
  const content = await readPackage(root, new Reader(root)).catch(() => undefined);
  const file = join(root, "package.json");
  const wrong = misplaced(content);
  if (wrong !== undefined) throw new XdevError("not-an-extension", `${file}: ${wrong}`);
  if (!content || !isRecord(content.xdev) || content.xdev.permissions === undefined) return undefined;
  const { parseManifest } = await import("../../src/extensions/manifest.ts");
  return parseManifest(JSON.stringify({ xdev: { permissions: content.xdev.permissions } }), file).permissions;
}
