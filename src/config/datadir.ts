import { homedir } from "node:os";
import { join } from "node:path";
import { resolvePath } from "../base/files.ts";

/**
 * The data dir as an absolute path: `--data-dir`, else `XDEV_DATA_DIR`, else `~/.xdev/agent`. It may not exist. A
 * relative path is relative to `cwd`, the folder that the program was started in.
 */
export function dataDirectory(
  option: string | undefined,
  env: Record<string, string | undefined>,
  cwd: string,
): string {
  const named = option ?? env.XDEV_DATA_DIR;
  return named ? resolvePath(named, cwd) : join(homedir(), ".xdev", "agent");
}
