import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { resolvePath } from "../../base/files.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { HeadOutput } from "./head-output.ts";
import { displayPath, existingFolder, explain } from "./paths.ts";
import { LS } from "./specs.ts";
import { abortable, defineTool, type ToolResult, textResult, throwIfAborted } from "./tool.ts";

const MAX_ENTRIES = 500;

interface LsParams {
  path?: string;
}

/** `ls`: what is in one folder, hidden or ignored files too. */
export function lsTool(context: ToolContext): BuiltinTool {
  return defineTool<LsParams>({
    ...LS,
    run: ({ path }, { signal }) => abortable(list(context, path, signal), signal),
  });
}

async function list(
  context: ToolContext,
  path: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const { cwd } = context;
  const folder = await existingFolder(path, cwd);
  const entries = await readdir(folder, { withFileTypes: true }).catch(async (error: unknown) => {
    throw await explain(error, resolvePath(path ?? ".", cwd), cwd);
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const output = new HeadOutput(context, "ls", MAX_ENTRIES);
  for (const entry of entries) {
    if (signal?.aborted) output.close();
    throwIfAborted(signal);
    // A link to a folder can be listed as one, so it looks like one.
    const isFolder = entry.isSymbolicLink()
      ? await stat(join(folder, entry.name)).then(
          (target) => target.isDirectory(),
          () => false,
        )
      : entry.isDirectory();
    await output.add(isFolder ? `${entry.name}/` : entry.name);
  }
  const { text, details } = output.finish(`${displayPath(folder, cwd)} is empty`);
  return textResult(text, details);
}
