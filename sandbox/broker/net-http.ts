/**
 * HTTP/1.1 as a client (RFC 9112), one request a connection. Written out because neither runtime's `http` can be told to use
 * a connection that was judged before, and no proxy, under both runtimes. What is not plainly right is refused: a response's
 * end must not be a matter of opinion.
 */
import type { Socket } from "node:net";
import { CallError } from "./broker.ts";
import { ByteReader, type Bytes, StreamBytes } from "./net-bytes.ts";
import {
  findHeader,
  type Headers,
  isFieldValue,
  isToken,
  MAX_HEAD_BYTES,
  MAX_HEADERS,
} from "./net-headers.ts";
import type { Target } from "./net-target.ts";

/** The longest piece of a body that is given at once, in bytes. */
export const MAX_CHUNK = 65_536;

/** The most responses that may come before the final one. */
const MAX_EARLIER = 32;

export interface RequestHead {
  method: string;
  headers: Headers;
  /** Undefined: none. A number: as many bytes follow. `chunked`: nobody knows yet. */
  body: number | "chunked" | undefined;
}

export interface ResponseHead {
  status: number;
  statusText: string;
  headers: Headers;
  body: Bytes;
}

/** One request and its response. */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #method: string;
  readonly #body: RequestHead["body"];
  readonly #reader: ByteReader;
  #sent = 0;

  /** Sends the head. `onArrival` is called whenever something comes from the server. */
  constructor(socket: Socket, target: Target, request: RequestHead, onArrival: () => void) {
    this.#socket = socket;
    this.#method = request.method;
    this.#body = request.body;
    this.#reader = new ByteReader(new StreamBytes(socket, () => cutOff(), onArrival));
    const lines = [`${request.method} ${target.path} HTTP/1.1`, `Host: ${target.authority}`];
    for (const [name, value] of request.headers) lines.push(`${name}: ${value}`);
    if (request.body === "chunked") lines.push("Transfer-Encoding: chunked");
    else if (request.body !== undefined) lines.push(`Content-Length: ${request.body}`);
    lines.push("Connection: close", "", "");
    socket.write(Buffer.from(lines.join("\r\n"), "latin1"));
  }

  /** Sends a piece of the body. Resolves when the next one may come. */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return;
    this.#sent += bytes.byteLength;
    if (this.#body === undefined || (this.#body !== "chunked" && this.#sent > this.#body)) {
      throw wrongLength();
    }
    if (this.#body !== "chunked") return this.#send(bytes);
    const size = Buffer.from(`${bytes.byteLength.toString(16)}\r\n`, "latin1");
    await this.#send(Buffer.concat([size, bytes, CRLF]));
  }

  /** Says that the body is complete. */
  async end(): Promise<void> {
    if (typeof this.#body === "number" && this.#sent !== this.#body) throw wrongLength();
    if (this.#body === "chunked") await this.#send(LAST_CHUNK);
  }

  #send(bytes: Uint8Array): Promise<void> {
    const socket = this.#socket;
    if (socket.destroyed || !socket.writable) return Promise.reject(cutOff());
    if (socket.write(bytes)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const done = (): void => {
        socket.off("drain", done);
        socket.off("close", done);
        if (socket.destroyed) reject(cutOff());
        else resolve();
      };
      socket.on("drain", done);
      socket.on("close", done);
    });
  }

  /** The final response's head; its body is read from the connection when it is asked for. */
  async response(): Promise<ResponseHead> {
    for (let earlier = 0; ; earlier++) {
      if (earlier > MAX_EARLIER) throw broken("too many others before it");
      const head = await this.#head();
      if (head.status === 101) throw broken("a switch of protocols that nobody asked for");
      if (head.status >= 200) return { ...head, body: this.#responseBody(head) };
    }
  }

  async #head(): Promise<Omit<ResponseHead, "body">> {
    let left = MAX_HEAD_BYTES;
    const line = async (): Promise<string> => {
      const text = await this.#reader.line(left, broken);
      if (text === undefined) throw cutOff();
      left -= text.length + 2;
      return text;
    };
    const [, status, statusText = ""] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: (.*))?$/s.exec(await line()) ?? [];
    if (status === undefined || !isFieldValue(statusText)) throw broken("no HTTP/1.1");
    const headers: [string, string][] = [];
    for (let text = await line(); text !== ""; text = await line()) {
      const colon = text.indexOf(":");
      const name = text.slice(0, Math.max(colon, 0));
      const value = text.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, "");
      if (!isToken(name) || !isFieldValue(value)) throw broken("a header that is none");
      if (headers.length === MAX_HEADERS) throw broken("too many headers");
      headers.push([name, value]);
    }
    return { status: Number(status), statusText, headers };
  }

  #responseBody({ status, headers }: Omit<ResponseHead, "body">): Bytes {
    if (this.#method === "HEAD" || status === 204 || status === 304) return NOTHING;
    const coding = allValues(headers, "transfer-encoding");
    const lengths = new Set(
      allValues(headers, "content-length").flatMap((value) => value.split(/[\t ]*,[\t ]*/)),
    );
    if (coding.length > 0) {
      if (coding.length > 1 || coding[0]?.toLowerCase() !== "chunked") {
        throw broken("a transfer coding that is not known");
      }
      if (lengths.size > 0) throw broken("two statements about its length");
      return chunked(this.#reader);
    }
    const [length] = lengths;
    if (length === undefined) return { read: () => this.#reader.some(MAX_CHUNK) };
    if (lengths.size > 1 || !/^\d{1,15}$/.test(length)) throw broken("a length that is none");
    if (Number(length) === 0) return NOTHING;
    return counted(this.#reader, Number(length));
  }
}

const CRLF = Buffer.from("\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
/** The body of a response that has none. */
export const NOTHING: Bytes = { read: async () => undefined };

function allValues(headers: Headers, name: string): string[] {
  return headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
}

function counted(reader: ByteReader, length: number): Bytes {
  let left = length;
  return {
    async read() {
      if (left === 0) return undefined;
      const bytes = await reader.some(Math.min(left, MAX_CHUNK));
      if (!bytes) throw cutOff();
      left -= bytes.byteLength;
      return bytes;
    },
  };
}

function chunked(reader: ByteReader): Bytes {
  let left = 0;
  let isFirst = true;
  let isOver = false;
  const line = async (): Promise<string> => {
    const text = await reader.line(4096, broken);
    if (text === undefined) throw cutOff();
    return text;
  };
  return {
    async read() {
      if (isOver) return undefined;
      if (left === 0) {
        if (!isFirst && (await line()) !== "") throw broken("a chunk that is longer than it says");
        isFirst = false;
        const size = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;.*)?$/s.exec(await line())?.[1];
        if (size === undefined) throw broken("a chunk without a size");
        left = Number.parseInt(size, 16);
        if (left === 0) {
          // Trailers: of no use to anybody here.
          for (let count = 0; (await line()) !== ""; count++) {
            if (count === MAX_HEADERS) throw broken("too many trailers");
          }
          isOver = true;
          return undefined;
        }
      }
      const bytes = await reader.some(Math.min(left, MAX_CHUNK));
      if (!bytes) throw cutOff();
      left -= bytes.byteLength;
      return bytes;
    },
  };
}

/** Whether a response leads elsewhere, and where to: the text of its `Location`. */
export function redirectOf({
  status,
  headers,
}: Pick<ResponseHead, "status" | "headers">): string | undefined {
  return [301, 302, 303, 307, 308].includes(status) ? findHeader(headers, "location") : undefined;
}

const cutOff = (): CallError =>
  new CallError("ECONNRESET", "read ECONNRESET: the other side closed the connection");
const broken = (what: string): CallError => new CallError("EPROTO", `the server's response has ${what}`);
const wrongLength = (): CallError =>
  new CallError("ERR_HTTP_CONTENT_LENGTH_MISMATCH", "the body is not as long as was said");
