/** `node:stream/consumers`: all of a stream, as one value. */
import { Buffer } from "node:buffer";
import { named } from "./named.ts";

type Source = AsyncIterable<unknown>;

export async function buffer(source: Source): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source)
    chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array));
  return Buffer.concat(chunks);
}

export async function arrayBuffer(source: Source): Promise<ArrayBuffer> {
  return new Uint8Array(await buffer(source)).buffer;
}

export async function bytes(source: Source): Promise<Uint8Array> {
  return new Uint8Array(await buffer(source));
}

export async function text(source: Source): Promise<string> {
  const decoder = new TextDecoder();
  let result = "";
  for await (const chunk of source) {
    result +=
      typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array<ArrayBuffer>, { stream: true });
  }
  return result + decoder.decode();
}

export async function json(source: Source): Promise<unknown> {
  return JSON.parse(await text(source));
}

export async function blob(source: Source): Promise<Blob> {
  return new Blob([await arrayBuffer(source)]);
}

export default named({ arrayBuffer, blob, buffer, bytes, json, text });
