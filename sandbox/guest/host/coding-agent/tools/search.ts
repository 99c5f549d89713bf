/** `grep`, `find` and `ls`: the built-in tools, over the extension's own rights or over `operations` of its own. */
import { join, relative } from "node:path";
import type { BuiltinTool } from "../../../../../src/agent/tools/context.ts";
import { findTool } from "../../../../../src/agent/tools/find.ts";
import { grepTool } from "../../../../../src/agent/tools/grep.ts";
import { lsTool } from "../../../../../src/agent/tools/ls.ts";
import { displayPath } from "../../../../../src/agent/tools/paths.ts";
import { abortable, textResult, throwIfAborted, wholeNumber } from "../../../../../src/agent/tools/tool.ts";
import { resolvePath } from "../../../../../src/base/files.ts";
import { truncateHead } from "../truncate.ts";
import { builtinOr, contextOf } from "./definition.ts";

export interface GrepOperations {
  isDirectory(path: string): Promise<boolean> | boolean;
}
export interface FindOperations {
  exists(path: string): Promise<boolean> | boolean;
  glob(
    pattern: string,
    cwd: string,
    options: { ignore: string[]; limit: number },
  ): Promise<string[]> | string[];
}
export interface LsOperations {
  exists(path: string): Promise<boolean> | boolean;
  stat(path: string): Promise<{ isDirectory(): boolean }> | { isDirectory(): boolean };
  readdir(path: string): Promise<string[]> | string[];
}

/**
 * Searches files for a model, with the permission `read`. `operations.isDirectory` is asked first and may refuse the path; the
 * search itself is always here: for another system, give the tool an `execute` of your own.
 */
export function createGrepTool(cwd: string, options: { operations?: GrepOperations } = {}): BuiltinTool {
  const { operations } = options;
  const builtin = grepTool(contextOf(cwd));
  if (!operations) return builtin;
  const { execute } = builtin;
  return {
    ...builtin,
    async execute(id, params, signal, onUpdate) {
      const { path = "." } = params as { path?: string };
      await operations.isDirectory(resolvePath(path, cwd));
      return await execute(id, params, signal, onUpdate);
    },
  };
}

/** Finds names for a model. Without `operations` it needs the permission `read`. */
export function createFindTool(cwd: string, options: { operations?: FindOperations } = {}): BuiltinTool {
  const { operations } = options;
  return builtinOr<{ pattern: string; path?: string; limit?: number }>(
    findTool(contextOf(cwd)),
    operations &&
      (async ({ pattern, path, limit: wanted }, { signal }) => {
        const root = resolvePath(path ?? ".", cwd);
        if (!(await operations.exists(root))) throw new Error(`${displayPath(root, cwd)} does not exist`);
        throwIfAborted(signal);
        const limit = wholeNumber(wanted, 1000, 1);
        const ignore = ["**/node_modules/**", "**/.git/**"];
        const globbed = operations.glob(pattern, root, { ignore, limit });
        const found = await abortable(Promise.resolve(globbed), signal);
        const names = found.map((name) => (name.startsWith("/") ? relative(root, name) : name));
        const note = names.length >= limit ? [`The limit of ${limit} was reached`] : [];
        return listed(names.slice(0, limit), "No files found", note);
      }),
  );
}

/** Lists a folder for a model. Without `operations` it needs the permission `read`. */
export function createLsTool(cwd: string, options: { operations?: LsOperations } = {}): BuiltinTool {
  const { operations } = options;
  return builtinOr<{ path?: string; limit?: number }>(
    lsTool(contextOf(cwd)),
    operations &&
      (async ({ path, limit: wanted }, { signal }) => {
        const folder = resolvePath(path ?? ".", cwd);
        const shown = displayPath(folder, cwd);
        if (!(await operations.exists(folder))) throw new Error(`${shown} does not exist`);
        if (!(await operations.stat(folder)).isDirectory())
          throw new Error(`${shown} is a file, not a folder`);
        const limit = wholeNumber(wanted, 500, 1);
        const names = [...(await operations.readdir(folder))].sort();
        const lines: string[] = [];
        for (const name of names.slice(0, limit)) {
          throwIfAborted(signal);
          const isFolder = await Promise.resolve()
            .then(() => operations.stat(join(folder, name)))
            .then(
              (stats) => stats.isDirectory(),
              () => false,
            );
          lines.push(isFolder ? `${name}/` : name);
        }
        const note = names.length > limit ? [`Showing ${limit} of ${names.length}`] : [];
        return listed(lines, `${shown} is empty`, note);
      }),
  );
}

function listed(lines: readonly string[], empty: string, notes: readonly string[]) {
  const truncation = truncateHead(lines.join("\n"));
  const all = truncation.truncated
    ? [...notes, `Showing ${truncation.outputLines} of ${lines.length}`]
    : notes;
  const body = lines.length === 0 ? empty : truncation.content;
  return textResult(
    all.length === 0 ? body : `${body}\n\n[${all.join("]\n[")}]`,
    truncation.truncated ? { truncation } : {},
  );
}
