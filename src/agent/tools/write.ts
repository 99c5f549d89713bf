import { access, constants, stat } from "node:fs/promises";
import { systemCode } from "../../base/errors.ts";
import { resolvePath, writeFileAtomic } from "../../base/files.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { displayPath, explain, refuseIrregular } from "./paths.ts";
import { oneAtATime } from "./queue.ts";
import { WRITE } from "./specs.ts";
import { defineTool, textResult, throwIfAborted } from "./tool.ts";

interface WriteParams {
  path: string;
  content: string;
}

/** `write`: a whole file, new or replaced, with its folders. */
export function writeTool({ cwd }: ToolContext): BuiltinTool {
  return defineTool<WriteParams>({
    ...WRITE,
    async run({ path, content }, { signal }) {
      if (/[/\\]$/.test(path)) throw new Error(`${path} names a folder, not a file`);
      const absolute = resolvePath(path, cwd);
      try {
        return await oneAtATime(absolute, async () => {
          // Not after this: a write that has begun is finished, so that "aborted" means that nothing was changed.
          throwIfAborted(signal);
          const replaced = await checkTarget(absolute, cwd);
          await writeFileAtomic(absolute, content);
          const size = Buffer.byteLength(content);
          const name = displayPath(absolute, cwd);
          return textResult(`${replaced ? "Replaced" : "Created"} ${name} (${size} bytes)`, {
            created: !replaced,
            bytes: size,
          });
        });
      } catch (error) {
        throw await explain(error, absolute, cwd);
      }
    },
  });
}

/** Whether there is a file to replace. Throws if it must not be: no regular file, or one that is write-protected. */
export async function checkTarget(path: string, cwd: string): Promise<boolean> {
  try {
    refuseIrregular(await stat(path), path, cwd);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
  // The atomic write replaces the file by name, which the file's own mode would not stop.
  await access(path, constants.W_OK).catch(() => {
    throw new Error(`${displayPath(path, cwd)} is read-only`);
  });
  return true;
}
