import { Blob, bytesOfBlob, concat } from "./blob.ts";
import { FormData } from "./form_data.ts";
import { type ByteStream, isStream, streamOf } from "./lazy_streams.ts";
import { decodeMultipart, encodeMultipart } from "./multipart.ts";

/** Where the bytes of a body come from. */
export type Source =
  | { bytes: Uint8Array }
  | { stream: ByteStream }
  | { pull(): Promise<Uint8Array | undefined>; cancel(reason: unknown): void };

/** Of a body: its source and the type that it has by itself. */
export interface Extracted {
  source: Source;
  type: string | undefined;
}

/** What the Fetch standard makes of a value that is given as a body. */
export function extractBody(value: unknown): Extracted | undefined {
  if (value === undefined || value === null) return undefined;
  if (value instanceof URLSearchParams) {
    return extractedText(String(value), "application/x-www-form-urlencoded;charset=UTF-8");
  }
  if (value instanceof Blob) return { source: { bytes: bytesOfBlob(value) }, type: value.type || undefined };
  if (value instanceof FormData) {
    const { bytes, type } = encodeMultipart(value);
    return { source: { bytes }, type };
  }
  if (value instanceof ArrayBuffer)
    return { source: { bytes: new Uint8Array(value.slice(0)) }, type: undefined };
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
    return { source: { bytes }, type: undefined };
  }
  if (isStream(value)) {
    if (value.locked) throw new TypeError("The stream of a body must not be locked");
    return { source: { stream: value }, type: undefined };
  }
  if (typeof value === "object" && Symbol.asyncIterator in value) {
    const items = (value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const pull = async (): Promise<Uint8Array | undefined> => {
      const { value: item, done } = await items.next();
      return done ? undefined : chunkBytes(item);
    };
    return { source: { pull, cancel: () => void items.return?.() }, type: undefined };
  }
  return extractedText(String(value), "text/plain;charset=UTF-8");
}

function extractedText(text: string, type: string): Extracted {
  return { source: { bytes: new TextEncoder().encode(text) }, type };
}

/** A piece of a body that a stream gave. Node's streams give texts, too. */
function chunkBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  throw new TypeError("The stream of a body must give Uint8Arrays");
}

/** The source of a body that nobody has read, for the one who sends it: it counts as read from then on. */
export let takeSource: (body: Body) => Source | undefined;
/** The same for a copy: afterwards both can be read. */
export let shareSource: (body: Body) => Source | undefined;

/** What `Request` and `Response` have in common. */
export abstract class Body {
  #source: Source | undefined;
  /** Made when somebody asks for it. */
  #stream: ByteStream | undefined;
  #used = false;

  abstract get headers(): { get(name: string): string | null };

  static {
    takeSource = (body) => {
      body.#requireUnused();
      if (body.#source) body.#used = true;
      return body.#stream ? { stream: body.#stream } : body.#source;
    };
    shareSource = (body) => {
      body.#requireUnused();
      if (!body.#source || ("bytes" in body.#source && !body.#stream)) return body.#source;
      const [one, other] = (body.body as ByteStream).tee();
      body.#source = { stream: one as ByteStream };
      body.#stream = one as ByteStream;
      return { stream: other as ByteStream };
    };
  }

  constructor(source: Source | undefined) {
    this.#source = source;
  }

  get body(): ByteStream | null {
    const source = this.#source;
    if (!source) return null;
    this.#stream ??= this.#makeStream(source);
    return this.#stream;
  }

  get bodyUsed(): boolean {
    return this.#used;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer as ArrayBuffer;
  }

  async bytes(): Promise<Uint8Array> {
    const bytes = await this.#consume();
    // What comes out is the reader's alone, and the whole of its memory.
    return bytes.length === bytes.buffer.byteLength && !this.#isKept ? bytes : bytes.slice();
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.#consume());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<Blob> {
    const type = this.headers.get("content-type") ?? "";
    return new Blob([await this.#consume()], { type });
  }

  async formData(): Promise<FormData> {
    const type = this.headers.get("content-type") ?? "";
    if (/^multipart\/form-data[\t ]*;/i.test(type)) return decodeMultipart(await this.#consume(), type);
    if (!/^application\/x-www-form-urlencoded[\t ]*(?:;|$)/i.test(type)) {
      throw new TypeError("Failed to parse body as FormData: its Content-Type is neither of the two");
    }
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }

  /** Whether somebody else may hold the bytes, too. */
  get #isKept(): boolean {
    return this.#source !== undefined && "bytes" in this.#source;
  }

  #requireUnused(): void {
    if (this.#used || this.#stream?.locked) {
      throw new TypeError("Body is unusable: Body has already been read");
    }
  }

  async #consume(): Promise<Uint8Array> {
    this.#requireUnused();
    const source = this.#source;
    if (!source) return new Uint8Array(0);
    this.#used = true;
    if (this.#stream) return readStream(this.#stream);
    if ("bytes" in source) return source.bytes;
    if ("stream" in source) return readStream(source.stream);
    const parts: Uint8Array[] = [];
    for (let part = await source.pull(); part; part = await source.pull()) parts.push(part);
    return parts.length === 1 ? (parts[0] as Uint8Array) : concat(parts);
  }

  #makeStream(source: Source): ByteStream {
    if ("stream" in source) return source.stream;
    const use = (): void => {
      this.#used = true;
    };
    if ("bytes" in source) {
      let rest: Uint8Array | undefined = source.bytes.length > 0 ? source.bytes.slice() : undefined;
      return streamOf(async () => {
        use();
        const bytes = rest;
        rest = undefined;
        return bytes;
      }, use);
    }
    const pull = async (): Promise<Uint8Array | undefined> => {
      use();
      return source.pull();
    };
    return streamOf(pull, (reason) => {
      use();
      source.cancel(reason);
    });
  }
}

async function readStream(stream: ByteStream): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return concat(parts);
    parts.push(chunkBytes(value));
  }
}

/** The bytes of a source one after the other, for the one who sends them. */
export function pullFrom(source: Exclude<Source, { bytes: Uint8Array }>): {
  pull(): Promise<Uint8Array | undefined>;
  cancel(reason: unknown): void;
} {
  if (!("stream" in source)) return source;
  const reader = source.stream.getReader();
  return {
    async pull() {
      const { value, done } = await reader.read();
      return done ? undefined : chunkBytes(value);
    },
    cancel: (reason) => void reader.cancel(reason).catch(() => {}),
  };
}
