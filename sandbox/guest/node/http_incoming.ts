/** `IncomingMessage`: a response. Bundled into `http`. */
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { Wire, WireHead } from "../web/wire.ts";
import { codedError } from "./errors.ts";

/** Headers of which Node keeps the first. */
const FIRST_ONLY =
  /^(?:age|authorization|content-length|content-type|etag|expires|from|host|if-modified-since|if-unmodified-since|last-modified|location|max-forwards|proxy-authorization|referer|retry-after|server|user-agent)$/;

export class IncomingMessage extends Readable {
  httpVersion = "1.1";
  httpVersionMajor = 1;
  httpVersionMinor = 1;
  complete = false;
  aborted = false;
  url = "";
  method: string | null = null;
  statusCode: number | null;
  statusMessage: string | null;
  rawHeaders: string[];
  headers: Record<string, string | string[]> = {};
  headersDistinct: Record<string, string[]>;
  trailers: Record<string, string> = {};
  trailersDistinct: Record<string, string[]> = {};
  rawTrailers: string[] = [];
  req: unknown;
  socket: unknown;
  readonly #wire: Wire | undefined;

  constructor(socket?: unknown, head?: WireHead, wire?: Wire) {
    super({ highWaterMark: 65_536 });
    this.socket = socket;
    this.#wire = wire;
    this.statusCode = head?.status ?? null;
    this.statusMessage = head?.statusText ?? null;
    this.rawHeaders = head?.headers.flat() ?? [];
    const distinct = Object.create(null) as Record<string, string[]>;
    for (const [name, value] of head?.headers ?? []) {
      const key = name.toLowerCase();
      const values = distinct[key];
      if (values) values.push(value);
      else distinct[key] = [value];
    }
    this.headersDistinct = distinct;
    for (const [key, values] of Object.entries(distinct)) {
      const joined = FIRST_ONLY.test(key) ? (values[0] ?? "") : values.join(key === "cookie" ? "; " : ", ");
      this.headers[key] = key === "set-cookie" ? values : joined;
    }
  }

  get connection(): unknown {
    return this.socket;
  }

  setTimeout(ms: number, listener?: () => void): this {
    (this.req as { setTimeout(ms: number, listener?: () => void): void } | undefined)?.setTimeout(
      ms,
      listener,
    );
    return this;
  }

  override _read(): void {
    if (!this.#wire) return;
    this.#wire.read().then(
      (bytes) => {
        if (this.destroyed) return;
        (this.req as { touch?(): void } | undefined)?.touch?.();
        if (bytes) return this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
        this.complete = true;
        this.push(null);
      },
      (error: unknown) => this.destroy(error as Error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    let reason = error;
    if (!this.complete) {
      this.#wire?.close();
      this.aborted = true;
      this.emit("aborted");
      // Nobody has to listen.
      reason =
        this.listenerCount("error") > 0 ? (reason ?? codedError(Error, "ECONNRESET", "aborted")) : null;
    }
    done(reason);
  }
}
