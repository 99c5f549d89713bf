/** Makes the file of an older version one of version 3 before it is written to. The old file stays beside it. */

import { linkSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { randomHex } from "../base/random.ts";
import { pause } from "../base/slices.ts";
import type { SessionFile } from "./file.ts";
import type { SessionStore } from "./store.ts";
import { SESSION_VERSION } from "./types.ts";

/** `store` has been read from `file`, which is open to be written to, and locked. */
export async function upgradeFile(store: SessionStore, file: SessionFile): Promise<void> {
  const temporary = `${file.path}.${randomHex(6)}.tmp`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.write(`${JSON.stringify({ ...store.header, version: SESSION_VERSION })}\n`);
      let lines = 0;
      for (const id of store.ids()) {
        await handle.write(`${JSON.stringify(store.rawEntry(id))}\n`);
        if (++lines % 64 === 0) await pause();
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    const old = `${file.path}.v${store.header.version}`;
    rmSync(old, { force: true });
    linkSync(file.path, old);
    await rename(temporary, file.path);
    file.reopen();
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
