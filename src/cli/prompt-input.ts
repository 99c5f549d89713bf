import { XdevError } from "../base/errors.ts";
import { readPipedInput } from "./stdin.ts";

/** What the user asks: attached files, the words of the command line, and piped standard input, in this order. */
export interface PromptInput {
  text: string;
  images: { type: "image"; data: string; mimeType: string }[];
}

/** Throws `XdevError` with code `usage` when there is nothing, `bad-attachment` for a file that can't be attached. */
export async function readPrompt(
  prompt: string,
  files: readonly string[],
  startFolder: string,
  cwd: string,
  interrupt: AbortSignal,
): Promise<PromptInput> {
  const piped = await readPipedInput(prompt !== "" || files.length > 0, interrupt);
  const attachments =
    files.length > 0
      ? await (await import("../agent/attachments.ts")).readAttachments(files, startFolder, cwd)
      : { text: "", images: [] };
  const text = [attachments.text, prompt, piped].filter((part) => part.trim() !== "").join("\n");
  if (text === "" && !interrupt.aborted) {
    throw new XdevError("usage", "there is no prompt", {
      hint: 'say what to do: xdev -p "…", or see xdev --help',
    });
  }
  return { text, images: attachments.images };
}
