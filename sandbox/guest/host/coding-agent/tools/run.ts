/** What the tools of the factories do when they are called: a text of its own (`internal/agent-tools-run`). */
import { open } from "node:fs/promises";
import { imageType } from "../../../../../src/agent/tools/image.ts";

export { createBashTool, createLocalBashOperations } from "./bash.ts";
export { createEditTool, createReadTool, createWriteTool, withFileMutationQueue } from "./files.ts";
export { createFindTool, createGrepTool, createLsTool } from "./search.ts";

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
