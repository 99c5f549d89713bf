import { resolvePath, writeFileAtomic } from "../../base/files.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { unifiedDiff } from "./diff.ts";
import { formatBytes } from "./limits.ts";
import { displayPath, explain, openRegular } from "./paths.ts";
import { oneAtATime } from "./queue.ts";
import { refuseBinary } from "./read.ts";
import { applyReplacements, type Edit, findReplacements, toLf } from "./replacements.ts";
import { EDIT } from "./specs.ts";
import { defineTool, type ToolResult, textResult, throwIfAborted } from "./tool.ts";
import { checkTarget } from "./write.ts";

/** An edit holds the file in memory several times over. */
const MAX_EDIT_BYTES = 32 * 1024 * 1024;

export interface EditParams {
  path: string;
  edits: Edit[];
}

/** `edit`: exact replacements in one file, all or none; line endings and the byte order mark stay as they are. */
export function editTool({ cwd }: ToolContext): BuiltinTool {
  return defineTool<EditParams>({
    ...EDIT,
    async run({ path, edits }, { signal }) {
      const absolute = resolvePath(path, cwd);
      const name = displayPath(absolute, cwd);
      try {
        return await oneAtATime(absolute, async () => {
          throwIfAborted(signal);
          const { content, result } = planEdit(await readWhole(absolute, name, cwd), edits, name);
          await checkTarget(absolute, cwd);
          // The last look: from here on the change is made, and reported as made.
          throwIfAborted(signal);
          await writeFileAtomic(absolute, content);
          return result;
        });
      } catch (error) {
        throw await explain(error, absolute, cwd);
      }
    },
  });
}

/**
 * What a file becomes by its edits, and the result once it is written. Throws, with what to do, if they can't be made, or the
 * bytes are no text in UTF-8.
 */
export function planEdit(
  bytes: Uint8Array,
  edits: readonly Edit[],
  name: string,
): { content: string; result: ToolResult } {
  refuseBinary(bytes, name, bytes.length);
  const whole = decodeStrictly(bytes, name);
  const bom = whole.startsWith("\uFEFF") ? "\uFEFF" : "";
  const original = whole.slice(bom.length);
  const text = toLf(original);
  const replacements = findReplacements(text, edits, name);
  return {
    content: bom + applyReplacements(original, replacements),
    result: textResult(`Edited ${name}: ${edits.length} replaced`, unifiedDiff(text, replacements)),
  };
}

async function readWhole(path: string, name: string, cwd: string): Promise<Uint8Array> {
  const { handle, stats } = await openRegular(path, cwd);
  try {
    if (stats.size > MAX_EDIT_BYTES) {
      throw new Error(`${name} has ${formatBytes(stats.size)}; the most is ${formatBytes(MAX_EDIT_BYTES)}`);
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** A lenient decoder would silently destroy every character of another encoding when the text is written back. */
function decodeStrictly(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not valid UTF-8: edit can't keep its other characters; use bash`);
  }
}
