/** What people write into package.json a little beside where it belongs: read over, it would be an extension that asks for nothing. */
import { isRecord } from "./json.ts";
import { KINDS } from "./permissions.ts";

/** What is in the wrong place, as words behind a file's name; undefined if nothing is. `content` is a package.json. */
export function misplaced(content: unknown): string | undefined {
  if (!isRecord(content)) return undefined;
  const own = isRecord(content.xdev) ? content.xdev : {};
  for (const [wrong, right] of [
    ["extension", "extensions"],
    ["permission", "permissions"],
  ] as const) {
    if (Object.hasOwn(own, wrong)) return `xdev.${wrong}: there is no such member: it is called ${right}`;
  }
  const { permissions } = content;
  // Another tool's member of that name has no reason to know our kinds.
  const isOurs =
    isRecord(permissions) &&
    Object.keys(permissions).length > 0 &&
    Object.keys(permissions).every((key) => (KINDS as readonly string[]).includes(key));
  return isOurs && own.permissions === undefined
    ? 'permissions: it belongs under "xdev": {"xdev": {"permissions": {…}}}'
    : undefined;
}
