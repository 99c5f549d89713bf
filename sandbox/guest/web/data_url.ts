import { makeResponse, type Response } from "./response.ts";

/** What a `data:` URL holds (Fetch standard, data: URL processor). Undefined for another scheme; throws a TypeError for a wrong one. */
export function dataResponse(url: string): Response | undefined {
  if (!url.startsWith("data:")) return undefined;
  const [, head, content] = /^data:([^,#]*),([^#]*)/s.exec(url) ?? [];
  if (head === undefined || content === undefined) throw new TypeError("fetch failed: invalid data: URL");
  const base64 = /;[\t ]*base64[\t ]*$/i.test(head);
  const given = head.replace(/;[\t ]*base64[\t ]*$/i, "").trim();
  const type = given.startsWith(";") ? `text/plain${given}` : given || "text/plain;charset=US-ASCII";
  const bytes = base64 ? fromBase64(latin1(unescapeBytes(content))) : unescapeBytes(content);
  const headers = { "content-type": type };
  const made = { source: { bytes }, kind: "basic" as const, url, redirected: false };
  return makeResponse(made, { status: 200, statusText: "OK", headers });
}

function unescapeBytes(text: string): Uint8Array {
  const raw = new TextEncoder().encode(text);
  const bytes = new Uint8Array(raw.length);
  let length = 0;
  for (let at = 0; at < raw.length; at++) {
    const hex = raw[at] === 37 ? latin1(raw.subarray(at + 1, at + 3)) : "";
    if (/^[0-9A-Fa-f]{2}$/.test(hex)) {
      bytes[length++] = Number.parseInt(hex, 16);
      at += 2;
    } else bytes[length++] = raw[at] as number;
  }
  return bytes.slice(0, length);
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function fromBase64(text: string): Uint8Array {
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    throw new TypeError("fetch failed: invalid base64 in a data: URL");
  }
  return Uint8Array.from(decoded, (character) => character.charCodeAt(0));
}
