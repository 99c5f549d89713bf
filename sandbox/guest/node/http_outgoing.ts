/** `OutgoingMessage`: a stream with headers. Bundled into `http`. */
import { Writable } from "node:stream";
import { codedError, invalidArgument } from "./errors.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Throws ERR_INVALID_HTTP_TOKEN. */
export function validateHeaderName(name: unknown, label = "Header name"): void {
  if (typeof name !== "string" || !TOKEN.test(name)) {
    throw codedError(TypeError, "ERR_INVALID_HTTP_TOKEN", `${label} must be a valid HTTP token ["${name}"]`);
  }
}

/** Throws ERR_HTTP_INVALID_HEADER_VALUE, ERR_INVALID_CHAR. */
export function validateHeaderValue(name: string, value: unknown): void {
  if (value === undefined) {
    throw codedError(
      TypeError,
      "ERR_HTTP_INVALID_HEADER_VALUE",
      `Invalid value "undefined" for header "${name}"`,
    );
  }
  for (const one of Array.isArray(value) ? value : [value]) {
    if (/[^\t\x20-\x7e\x80-\xff]/.test(String(one))) {
      throw codedError(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
    }
  }
}

type Value = string | number | readonly string[];

export class OutgoingMessage extends Writable {
  headersSent = false;
  readonly #fields = new Map<string, { name: string; value: Value }>();

  setHeader(name: string, value: Value): this {
    if (this.headersSent) throw sent("set");
    validateHeaderName(name);
    validateHeaderValue(name, value);
    this.#fields.set(name.toLowerCase(), { name, value });
    return this;
  }

  setHeaders(headers: Iterable<readonly [string, Value]>): this {
    for (const [name, value] of headers) this.setHeader(name, value);
    return this;
  }

  appendHeader(name: string, value: Value): this {
    const before = this.getHeader(name);
    const values = [before ?? [], value].flat().map(String);
    return this.setHeader(name, values);
  }

  getHeader(name: string): Value | undefined {
    if (typeof name !== "string") throw invalidArgument("name", "of type string", name);
    return this.#fields.get(name.toLowerCase())?.value;
  }

  getHeaderNames(): string[] {
    return [...this.#fields.keys()];
  }

  getRawHeaderNames(): string[] {
    return Array.from(this.#fields.values(), ({ name }) => name);
  }

  getHeaders(): Record<string, Value> {
    const all = Object.create(null) as Record<string, Value>;
    for (const [key, { value }] of this.#fields) all[key] = value;
    return all;
  }

  hasHeader(name: string): boolean {
    return this.getHeader(name) !== undefined;
  }

  removeHeader(name: string): void {
    if (this.headersSent) throw sent("remove");
    this.#fields.delete(String(name).toLowerCase());
  }

  /** Takes what `headers` of the options may be: an object, pairs, or names and values in turn. */
  protected takeHeaders(headers: unknown): void {
    if (typeof headers !== "object" || headers === null) return;
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value as Value);
    } else if (Array.isArray(headers[0])) {
      for (const [name, value] of headers) this.appendHeader(name, value);
    } else {
      for (let i = 0; i + 1 < headers.length; i += 2) this.appendHeader(headers[i], headers[i + 1]);
    }
  }

  /** As they are sent. */
  protected headerPairs(): [string, string][] {
    const pairs: [string, string][] = [];
    for (const { name, value } of this.#fields.values()) {
      const isCookie = name.toLowerCase() === "cookie";
      if (Array.isArray(value) && isCookie) pairs.push([name, value.join("; ")]);
      else for (const one of Array.isArray(value) ? value : [value]) pairs.push([name, String(one)]);
    }
    return pairs;
  }
}

const sent = (what: string): Error =>
  codedError(Error, "ERR_HTTP_HEADERS_SENT", `Cannot ${what} headers after they are sent to the client`);
