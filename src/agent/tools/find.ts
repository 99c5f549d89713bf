import { isAbsolute, relative } from "node:path";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { compileGlob } from "./glob.ts";
import { HeadOutput } from "./head-output.ts";
import { displayPath, existingFolder } from "./paths.ts";
import { FIND } from "./specs.ts";
import { throttle } from "./throttle.ts";
import { abortable, defineTool, type ToolResult, type ToolRun, textResult, wholeNumber } from "./tool.ts";
import { walk } from "./walk.ts";

const DEFAULT_LIMIT = 1000;

interface FindParams {
  pattern: string;
  path?: string;
  limit?: number;
}

/** `find`: names by glob, .gitignore respected. */
export function findTool(context: ToolContext): BuiltinTool {
  return defineTool<FindParams>({
    ...FIND,
    run: (params, run) => abortable(find(context, params, run), run.signal),
  });
}

async function find(context: ToolContext, params: FindParams, run: ToolRun): Promise<ToolResult> {
  const { cwd, isConfined } = context;
  const root = await existingFolder(params.path, cwd);
  const limit = wholeNumber(params.limit, DEFAULT_LIMIT, 1);
  const onlyFolders = params.pattern.endsWith("/");
  const pattern = onlyFolders ? params.pattern.replace(/\/+$/, "") : params.pattern;
  const matches = compileGlob(isAbsolute(pattern) ? relative(root, pattern) : pattern);
  const base = displayPath(root, cwd);
  const prefix = base === "." ? "" : `${base}/`;

  const output = new HeadOutput(context, "find");
  const notes: string[] = [];
  let looked = 0;
  let unreadable = 0;
  const progress = throttle(250, () => run.update(`${looked} looked at, ${output.total} found`));
  try {
    const folders = walk(root, { cwd, isConfined, signal: run.signal, onUnreadable: () => unreadable++ });
    search: for await (const entries of folders) {
      for (const { relative: name, kind } of entries) {
        looked++;
        if ((onlyFolders && kind !== "folder") || !matches(name)) continue;
        if (output.total === limit) {
          notes.push(`More than ${limit}; narrow the pattern or raise limit`);
          break search;
        }
        await output.add(`${prefix}${name}${kind === "folder" ? "/" : ""}`);
      }
      progress.run();
    }
  } finally {
    progress.stop();
    output.close();
    if (unreadable > 0) notes.push(`${unreadable} folders could not be read`);
  }
  const { text, details } = output.finish("No files found", notes);
  return textResult(text, details);
}
