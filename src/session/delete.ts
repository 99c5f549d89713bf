/** Takes a session away, with what was kept for it alone. */
import { unlinkSync } from "node:fs";
import { XdevError } from "../base/errors.ts";
import { canonicalPath } from "../base/files.ts";
import { BlobStore } from "./blobs.ts";
import { summaryOf } from "./list.ts";
import { forgetLists } from "./list-cache.ts";
import { lockSession } from "./lock.ts";

/**
 * Removes a session's file, and from the blob store what no other session refers to. Throws `XdevError` `not-a-session` for
 * another file, and `session-in-use`.
 */
export async function deleteSession(path: string, { dataDir }: { dataDir: string }): Promise<void> {
  const file = await canonicalPath(path);
  if (!summaryOf(file)) throw new XdevError("not-a-session", `${file} holds no session`);
  const lock = lockSession(file);
  try {
    unlinkSync(file);
    forgetLists(dataDir);
  } finally {
    lock.release();
  }
  await new BlobStore(dataDir).removeUnreferenced();
}
