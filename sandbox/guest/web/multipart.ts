/** `multipart/form-data` (RFC 7578), as the Fetch standard has it. */
import { randomBytes } from "xdev:system";
import { bytesOfBlob, concat, File } from "./blob.ts";
import { FormData } from "./form_data.ts";

export function encodeMultipart(form: FormData): { bytes: Uint8Array; type: string } {
  const chance = Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const boundary = `----xdev-form-${chance}`;
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(lines(name))}"`;
    if (typeof value === "string") {
      parts.push(encoder.encode(`${head}\r\n\r\n${lines(value)}\r\n`));
    } else {
      const type = value.type || "application/octet-stream";
      parts.push(
        encoder.encode(`${head}; filename="${escapeName(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`),
      );
      parts.push(bytesOfBlob(value), encoder.encode("\r\n"));
    }
  }
  parts.push(encoder.encode(`--${boundary}--\r\n`));
  return { bytes: concat(parts), type: `multipart/form-data; boundary=${boundary}` };
}

const lines = (text: string): string => text.replace(/\r\n?|\n/g, "\r\n");

const escapeName = (text: string): string =>
  text.replace(/["\r\n]/g, (one) => (one === '"' ? "%22" : one === "\r" ? "%0D" : "%0A"));

const unescapeName = (text: string): string =>
  text.replace(/%22|%0D|%0A/gi, (one) => String.fromCharCode(Number.parseInt(one.slice(1), 16)));

/** Throws a TypeError for what is none. */
export function decodeMultipart(bytes: Uint8Array, type: string): FormData {
  const boundary = /;[\t ]*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type);
  const mark = boundary?.[1] ?? boundary?.[2];
  if (mark === undefined) throw invalid("no boundary");
  const encoder = new TextEncoder();
  const delimiter = encoder.encode(`--${mark}`);
  const inner = encoder.encode(`\r\n--${mark}`);
  const form = new FormData();
  let at = find(bytes, delimiter, 0);
  if (at < 0) throw invalid("no part");
  at += delimiter.length;
  for (;;) {
    if (bytes[at] === 45 && bytes[at + 1] === 45) return form;
    // Spaces may stand behind a boundary.
    while (bytes[at] === 32 || bytes[at] === 9) at++;
    if (bytes[at] !== 13 || bytes[at + 1] !== 10) throw invalid("a boundary that goes on");
    const headEnd = find(bytes, HEAD_END, at);
    const end = headEnd < 0 ? -1 : find(bytes, inner, headEnd + 2);
    if (end < 0) throw invalid("a part without an end");
    append(form, new TextDecoder().decode(bytes.subarray(at + 2, headEnd)), bytes.slice(headEnd + 4, end));
    at = end + inner.length;
  }
}

const HEAD_END = new Uint8Array([13, 10, 13, 10]);

function append(form: FormData, head: string, content: Uint8Array): void {
  const headers = new Map<string, string>();
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition") ?? "";
  if (!/^form-data[\t ]*;/i.test(disposition)) throw invalid("a part that is no form data");
  const parameter = (name: string): string | undefined => {
    const value = new RegExp(`;[\\t ]*${name}=(?:"([^"]*)"|([^;\\s]+))`, "i").exec(disposition);
    return value ? unescapeName(value[1] ?? value[2] ?? "") : undefined;
  };
  const name = parameter("name");
  if (name === undefined) throw invalid("a part without a name");
  const fileName = parameter("filename");
  if (fileName === undefined) return form.append(name, new TextDecoder().decode(content));
  form.append(name, new File([content], fileName, { type: headers.get("content-type") ?? "text/plain" }));
}

function find(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const first = wanted[0] as number;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    let same = 1;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}

const invalid = (what: string): TypeError =>
  new TypeError(`Failed to parse body as FormData: it has ${what}`);
