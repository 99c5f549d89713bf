/** The tool factories of the agent's package: a text of its own (`internal/agent-tools`), since few extensions make such tools. */
import { open } from "node:fs/promises";
import { about } from "xdev:system";
import { imageType } from "../../../../../src/agent/tools/image.ts";
import { createBashTool } from "./bash.ts";
import type { FactoryTool } from "./definition.ts";
import { createEditTool, createReadTool, createWriteTool } from "./files.ts";
import { createFindTool, createGrepTool, createLsTool } from "./search.ts";

export { generateDiffString, generateUnifiedPatch } from "../diff.ts";
export { createBashTool, createLocalBashOperations } from "./bash.ts";
export { createEditTool, createReadTool, createWriteTool, withFileMutationQueue } from "./files.ts";
export { createFindTool, createGrepTool, createLsTool } from "./search.ts";

// A definition has what a tool has, and more: here they are one.
export const createBashToolDefinition = createBashTool;
export const createReadToolDefinition = createReadTool;
export const createWriteToolDefinition = createWriteTool;
export const createEditToolDefinition = createEditTool;
export const createGrepToolDefinition = createGrepTool;
export const createFindToolDefinition = createFindTool;
export const createLsToolDefinition = createLsTool;

type Options = Partial<Record<string, object>>;

/** `read`, `bash`, `edit`, `write`. `options` has those of each by its name. */
export function createCodingTools(cwd: string, options: Options = {}): FactoryTool[] {
  const { read, bash, edit, write } = options;
  return [
    createReadTool(cwd, read),
    createBashTool(cwd, bash),
    createEditTool(cwd, edit),
    createWriteTool(cwd, write),
  ];
}

/** `read`, `grep`, `find`, `ls`: those that change nothing. */
export function createReadOnlyTools(cwd: string, options: Options = {}): FactoryTool[] {
  const { read, grep, find, ls } = options;
  return [
    createReadTool(cwd, read),
    createGrepTool(cwd, grep),
    createFindTool(cwd, find),
    createLsTool(cwd, ls),
  ];
}

/** The type of an image file by its first bytes; null if it is none that models take. Needs the permission `read`. */
export async function detectSupportedImageMimeTypeFromFile(path: string): Promise<string | null> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(12), 0, 12, 0);
    return imageType(buffer.subarray(0, bytesRead)) ?? null;
  } finally {
    await file.close();
  }
}

// Tools of the session's folder, as older versions of the package have them.
export const readTool = createReadTool(about.cwd);
export const bashTool = createBashTool(about.cwd);
export const editTool = createEditTool(about.cwd);
export const writeTool = createWriteTool(about.cwd);
export const grepTool = createGrepTool(about.cwd);
export const findTool = createFindTool(about.cwd);
export const lsTool = createLsTool(about.cwd);
export const codingTools = [readTool, bashTool, editTool, writeTool];
export const readOnlyTools = [readTool, grepTool, findTool, lsTool];
