/** Where sessions are: `<dataDir>/sessions/<slug of the cwd>/<time>_<id>.jsonl`, as the agents of this family lay them out. */

import { basename, join, resolve } from "node:path";
import { randomBytes } from "../base/random.ts";

export function sessionsFolder(dataDir: string): string {
  return join(dataDir, "sessions");
}

/** The folder's name for a cwd: `/work/my app` is `--work-my app--`. Two folders may share one; the header tells them apart. */
export function cwdSlug(cwd: string): string {
  const slug = `--${resolve(cwd)
    .replace(/^[/\\]/, "")
    .replace(/[/\\:]/g, "-")}--`;
  // A name in a folder has at most 255 bytes: of a longer one the end says more than the beginning.
  const bytes = Buffer.from(slug);
  return bytes.length <= NAME_BYTES ? slug : `--${decodeEnd(bytes.subarray(bytes.length - NAME_BYTES + 2))}`;
}

const NAME_BYTES = 255;

/** Without the rest of a character that was cut. */
function decodeEnd(bytes: Buffer): string {
  let at = 0;
  while (at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at++;
  return bytes.toString("utf8", at);
}

/** The folder of the sessions that were started in `cwd`. */
export function sessionFolder(dataDir: string, cwd: string): string {
  return join(sessionsFolder(dataDir), cwdSlug(cwd));
}

export function blobsFolder(dataDir: string): string {
  return join(dataDir, "blobs");
}

/** `timestamp` is the header's: it sorts files by their beginning. */
export function sessionFileName(timestamp: string, id: string): string {
  return `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;
}

/** The id in a file's name, without looking into it; undefined if the name is not made as above. */
export function idOfFileName(path: string): string | undefined {
  return /^[^_]+_(.+)\.jsonl$/.exec(basename(path))?.[1];
}

/** What may be the id of a session: it becomes a part of a file's name. */
export function isSessionId(id: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/.test(id);
}

/** A UUID of version 7: those made later sort behind those made before, so that a prefix of few digits does not name one. */
export function newSessionId(): string {
  const bytes = Buffer.from(randomBytes(16));
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [8, 12, 16, 20, 32].map((end, i) => hex.slice([0, 8, 12, 16, 20][i], end)).join("-");
}
