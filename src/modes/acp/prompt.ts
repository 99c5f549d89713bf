/** The content of a prompt of an editor, as a text and images for the model. */
import { fileURLToPath } from "node:url";
import { type ContentBlock, RequestError } from "@agentclientprotocol/sdk";

export interface AcpPrompt {
  text: string;
  images: { type: "image"; data: string; mimeType: string }[];
}

/** Throws `RequestError` (invalid params) for what no model here can be given, and for a prompt without anything. */
export function promptOf(blocks: readonly ContentBlock[]): AcpPrompt {
  const parts: string[] = [];
  const images: AcpPrompt["images"] = [];
  for (const block of blocks) {
    if (block.type === "text") parts.push(block.text);
    else if (block.type === "image") {
      images.push({ type: "image", data: block.data, mimeType: block.mimeType });
    } else if (block.type === "resource_link") parts.push(mention(block.uri));
    else if (block.type === "resource" && "text" in block.resource) {
      const { uri, text } = block.resource;
      parts.push(`<file name="${pathOf(uri)}">\n${text.trimEnd()}\n</file>\n`);
    } else throw RequestError.invalidParams(undefined, `xdev takes no ${block.type} of this kind`);
  }
  const text = parts.join("");
  if (text.trim() === "" && images.length === 0) {
    throw RequestError.invalidParams(undefined, "the prompt is empty");
  }
  return { text, images };
}

/** As people write it: the model reads the file if it needs to. */
function mention(uri: string): string {
  return ` ${pathOf(uri)} `;
}

function pathOf(uri: string): string {
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri.replace(/[?#].*$/, "")) : uri;
  } catch {
    return uri;
  }
}
