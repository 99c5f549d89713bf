/** A request as the broker's network takes it (sandbox/broker/net.ts). */
import { call } from "xdev:system";

export interface WireRequest {
  url: string;
  method: string;
  headers: readonly (readonly [string, string])[];
  redirect: "follow" | "error" | "manual";
  decompress: boolean;
  /** All of it at once, or `length` bytes (undefined: nobody knows) by `write` and `end`. */
  body: Uint8Array | { length: number | undefined } | undefined;
}

export interface WireHead {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
  hasBody: boolean;
}

/** Larger bodies go in pieces of this many bytes, so that no call is too long for the host. */
const PIECE = 262_144;

/** A request under way. Every rejection is an error with a `code`. */
export class Wire {
  readonly #id: Promise<number>;
  /** The response's head. */
  readonly head: Promise<WireHead>;
  #hasBody = true;
  #isClosed = false;

  constructor({ body, ...request }: WireRequest) {
    const isLong = body instanceof Uint8Array && body.length > 4 * PIECE;
    const kind = body === undefined ? "none" : body instanceof Uint8Array && !isLong ? "bytes" : "stream";
    const args = { ...request, body: kind, length: kind === "stream" ? body?.length : undefined };
    this.#id = call("net.open", args, kind === "bytes" ? (body as Uint8Array) : undefined).then(
      ({ value }) => (value as { id: number }).id,
    );
    this.head = this.#id
      .then((id) => call("net.response", { id }))
      .then(({ value }) => {
        const head = value as WireHead;
        this.#hasBody = head.hasBody;
        return head;
      });
    this.head.catch(() => {});
    if (isLong) {
      // If this fails, the response says why.
      this.write(body)
        .then(
          () => this.end(),
          () => {},
        )
        .catch(() => {});
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    const id = await this.#id;
    for (let at = 0; at < bytes.length; at += PIECE) {
      await call("net.write", { id }, bytes.subarray(at, at + PIECE));
    }
  }

  async end(): Promise<void> {
    await call("net.end", { id: await this.#id });
  }

  /** The next bytes of the response's body; undefined at its end. */
  async read(): Promise<Uint8Array | undefined> {
    await this.head;
    if (!this.#hasBody) return undefined;
    const { value, bytes } = await call("net.read", { id: await this.#id });
    if (!(value as { end: boolean }).end) return bytes;
    this.#hasBody = false;
    return undefined;
  }

  /** Ends it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#id.then((id) => call("net.close", { id })).catch(() => {});
  }
}
