/** `@file` arguments and piped standard input: what joins the prompt (print mode). */
import { readFile, stat } from "node:fs/promises";
import { relative } from "node:path";
import { errorText, XdevError } from "../base/errors.ts";
import { isInside, resolvePath } from "../base/files.ts";
import { imageType } from "./tools/image.ts";

export interface Attachments {
  /** Text files, each behind a line with its path. */
  text: string;
  images: { type: "image"; data: string; mimeType: string }[];
}

/** The largest attachment, in bytes. */
const LIMIT = 10 * 1024 * 1024;

/**
 * Reads the files, whose paths are relative to `startFolder`; the model is told the paths as its tools know them, relative to
 * `cwd`. Throws `XdevError` with code `bad-attachment` for one that is missing, too large or binary. */
export async function readAttachments(
  paths: readonly string[],
  startFolder: string,
  cwd: string,
): Promise<Attachments> {
  const attachments: Attachments = { text: "", images: [] };
  for (const path of paths) {
    const absolute = resolvePath(path, startFolder);
    const bytes = await readOne(path, absolute);
    const name = isInside(absolute, cwd) ? relative(cwd, absolute) : absolute;
    const mimeType = imageType(bytes);
    if (mimeType) {
      attachments.images.push({ type: "image", data: bytes.toString("base64"), mimeType });
      attachments.text += `<file name="${name}">(image attached)</file>\n`;
      continue;
    }
    if (bytes.subarray(0, 8192).includes(0)) {
      throw new XdevError("bad-attachment", `@${path} is neither text nor an image`);
    }
    attachments.text += `<file name="${name}">\n${bytes.toString("utf8").trimEnd()}\n</file>\n`;
  }
  return attachments;
}

async function readOne(path: string, absolute: string): Promise<Buffer> {
  try {
    const info = await stat(absolute);
    if (!info.isFile()) throw new Error("it is not a file");
    if (info.size > LIMIT) throw new Error(`it is larger than ${LIMIT / 1024 / 1024} MB`);
    return await readFile(absolute);
  } catch (error) {
    throw new XdevError("bad-attachment", `cannot attach @${path}: ${errorText(error)}`, {
      hint: "check the path",
    });
  }
}
