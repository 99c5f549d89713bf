/** `read`, `write` and `edit`: the built-in tools, over the extension's own rights or over `operations` of its own. */
import { dirname, resolve } from "node:path";
import type { BuiltinTool } from "../../../../../src/agent/tools/context.ts";
import { type EditParams, editTool, planEdit } from "../../../../../src/agent/tools/edit.ts";
import { displayPath } from "../../../../../src/agent/tools/paths.ts";
import { inTurn } from "../../../../../src/agent/tools/queue.ts";
import { type ReadParams, rangeOf, readOpened, readTool } from "../../../../../src/agent/tools/read.ts";
import { toLf } from "../../../../../src/agent/tools/replacements.ts";
import {
  abortable,
  type ToolResult,
  textResult,
  throwIfAborted,
} from "../../../../../src/agent/tools/tool.ts";
import { writeTool } from "../../../../../src/agent/tools/write.ts";
import { resolvePath } from "../../../../../src/base/files.ts";
import { generateDiffString, generateUnifiedPatch } from "../diff.ts";
import { truncateHead } from "../truncate.ts";
import { builtinOr, contextOf } from "./definition.ts";

export interface ReadOperations {
  readFile(path: string): Promise<Uint8Array>;
  access(path: string): Promise<void>;
  /** Its answer counts, where it gives one, before what the first bytes say. */
  detectImageMimeType?(path: string): Promise<string | null | undefined>;
}
export interface WriteOperations {
  writeFile(path: string, content: string): Promise<void>;
  mkdir(folder: string): Promise<void>;
}
export interface EditOperations {
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, content: string): Promise<void>;
  access(path: string): Promise<void>;
}

/** Reads a file for a model. Without `operations` it needs the permission `read`. */
export function createReadTool(cwd: string, options: { operations?: ReadOperations } = {}): BuiltinTool {
  const { operations } = options;
  const run = async (params: ReadParams, signal: AbortSignal | undefined): Promise<ToolResult> => {
    const { readFile, access, detectImageMimeType } = operations!;
    const path = resolvePath(params.path, cwd);
    await access.call(operations, path);
    const image = await detectImageMimeType?.call(operations, path);
    const bytes = asBuffer(await readFile.call(operations, path));
    if (image) {
      const text = `${displayPath(path, cwd)}: ${image}`;
      const data = bytes.toString("base64");
      return {
        content: [
          { type: "text", text },
          { type: "image", data, mimeType: image },
        ],
        details: {},
      };
    }
    return await readOpened(handleOf(bytes), displayPath(path, cwd), bytes.length, rangeOf(params), signal);
  };
  const tool = builtinOr<ReadParams>(
    readTool(contextOf(cwd)),
    operations && ((params, { signal }) => abortable(run(params, signal), signal)),
  );
  return withDetails(tool, truncationOf);
}

/** Writes a file for a model. Without `operations` it needs the permission `write`. */
export function createWriteTool(cwd: string, options: { operations?: WriteOperations } = {}): BuiltinTool {
  const { operations } = options;
  return builtinOr<{ path: string; content: string }>(
    writeTool(contextOf(cwd)),
    operations &&
      (async ({ path, content }, { signal }) => {
        const absolute = resolvePath(path, cwd);
        return await withFileMutationQueue(absolute, async () => {
          throwIfAborted(signal);
          await operations.mkdir(dirname(absolute));
          await operations.writeFile(absolute, content);
          const size = Buffer.byteLength(content);
          return textResult(`Wrote ${displayPath(absolute, cwd)} (${size} bytes)`, { bytes: size });
        });
      }),
  );
}

/** Changes a file for a model. Without `operations` it needs the permissions `read` and `write`. */
export function createEditTool(cwd: string, options: { operations?: EditOperations } = {}): BuiltinTool {
  const operations = options.operations;
  const builtin = withDetails(editTool(contextOf(cwd)), ({ details }, { path }) => {
    const name = displayPath(resolvePath(String(path), cwd), cwd);
    return { patch: `--- ${name}\n+++ ${name}\n${(details as { diff: string }).diff}\n` };
  });
  return builtinOr<EditParams>(
    builtin,
    operations &&
      (async ({ path, edits }, { signal }) => {
        const absolute = resolvePath(path, cwd);
        const name = displayPath(absolute, cwd);
        return await withFileMutationQueue(absolute, async () => {
          throwIfAborted(signal);
          await operations.access(absolute);
          const bytes = asBuffer(await operations.readFile(absolute));
          const { content, result } = planEdit(bytes, edits, name);
          throwIfAborted(signal);
          await operations.writeFile(absolute, content);
          const [before, after] = [toLf(bytes.toString()), toLf(content)];
          const patch = generateUnifiedPatch(name, before, after);
          return { ...result, details: { ...generateDiffString(before, after), patch } };
        });
      }),
  );
}

/**
 * Runs `work` after all earlier work on the same file in this extension has ended; the agent's own tools have a queue of theirs.
 * The file goes by its path: it may be one of another system, and to look it up here would take a permission.
 */
export async function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T> {
  return await inTurn(resolve(path), async () => await work());
}

/** The tool with more in its results' details: what extensions of this family look for there. */
function withDetails(
  tool: BuiltinTool,
  more: (result: ToolResult, params: Record<string, unknown>) => object,
): BuiltinTool {
  const { execute } = tool;
  return {
    ...tool,
    async execute(id, params, signal, onUpdate) {
      const result = await execute(id, params, signal, onUpdate);
      const added = more(result, params as Record<string, unknown>);
      return { ...result, details: { ...(result.details as object), ...added } };
    },
  };
}

function truncationOf({ content, details }: ToolResult): object {
  if ((details as { truncated?: boolean }).truncated !== true) return {};
  const [first] = content;
  return { truncation: { ...truncateHead(first?.type === "text" ? first.text : ""), truncated: true } };
}

function asBuffer(bytes: Uint8Array | string): Buffer {
  if (typeof bytes === "string") return Buffer.from(bytes);
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes that are there, read as a file is. */
function handleOf(bytes: Buffer): Parameters<typeof readOpened>[0] {
  const handle = {
    async read(target: Buffer, offset: number, length: number, position: number) {
      const bytesRead = bytes.copy(target, offset, position, Math.min(position + length, bytes.length));
      return { bytesRead, buffer: target };
    },
    stat: async () => ({ size: bytes.length }),
  };
  return handle as unknown as Parameters<typeof readOpened>[0];
}
