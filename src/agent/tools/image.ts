import type { FileHandle } from "node:fs/promises";
import { formatBytes } from "./limits.ts";
import { type ToolResult, textResult, throwIfAborted } from "./tool.ts";

/** What the providers take. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** The type of an image by its first bytes (12 are enough); its name may say anything. */
export function imageType(head: Uint8Array): string | undefined {
  const ascii = String.fromCharCode(...head.subarray(0, 12));
  if (ascii.startsWith("\u0089PNG\r\n\u001a\n")) return "image/png";
  if (ascii.startsWith("\u00ff\u00d8\u00ff")) return "image/jpeg";
  if (ascii.startsWith("GIF87a") || ascii.startsWith("GIF89a")) return "image/gif";
  if (ascii.startsWith("RIFF") && ascii.startsWith("WEBP", 8)) return "image/webp";
  return undefined;
}

/** The whole image as a result. `name` is how the model knows the file. */
export async function readImage(
  handle: Pick<FileHandle, "read" | "stat">,
  mimeType: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<ToolResult> {
  const { size } = await handle.stat();
  if (size > MAX_IMAGE_BYTES) {
    throw new Error(
      `${name} is an image of ${formatBytes(size)}; the most is ${formatBytes(MAX_IMAGE_BYTES)}`,
    );
  }
  // By position: the first bytes were read already. One buffer of the known size, so a growing file can't grow it.
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    throwIfAborted(signal);
    const { bytesRead } = await handle.read(bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  const { content } = textResult(`${name}: ${mimeType}, ${formatBytes(length)}`);
  content.push({ type: "image", data: bytes.subarray(0, length).toString("base64"), mimeType });
  return { content, details: { mimeType, bytes: length } };
}
