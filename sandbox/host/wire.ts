/**
 * What passes between the agent and the extension host over the host's standard input and output: records, and nothing
 * else. Each names the extension that it is for or from, by its number in that host.
 *
 *     u32 length of what follows · u32 extension · u8 kind · u32 number · parts, each: u32 length · bytes
 *
 * `number` is that of a system call, else 0; integers are little-endian. Both sides read with the same reader, but only one
 * of them can trust the other: the agent takes what it reads for hostile (client.ts).
 */

/** Kinds by name. Below 16: to the host; from 16: from it. */
export const KIND = {
  /** A new extension: start its worker. */
  start: 1,
  /** JSON text of a `BootMessage`. */
  boot: 2,
  /** JSON text of a frame. */
  deliver: 3,
  /** What a system call gave: JSON text, and bytes if there are any. */
  returned: 4,
  /** Why a system call failed: JSON text. */
  refused: 5,
  /** End its worker; answered with `exit`. */
  end: 6,
  /** JSON text of a frame. */
  frame: 16,
  /** Why it could not be loaded, or goes no further. */
  fatal: 17,
  log: 18,
  /** A system call: operation, JSON text, and bytes if there are any. Its number is 0 if the worker waits for it. */
  call: 19,
  /** Its worker is over: why. Nothing of that number follows. */
  exit: 20,
} as const;

/** How many parts a record of a kind has, at least and at most. */
const PARTS: Readonly<Record<number, readonly [number, number]>> = {
  [KIND.start]: [0, 0],
  [KIND.boot]: [1, 1],
  [KIND.deliver]: [1, 1],
  [KIND.returned]: [1, 2],
  [KIND.refused]: [1, 1],
  [KIND.end]: [0, 0],
  [KIND.frame]: [1, 1],
  [KIND.fatal]: [1, 1],
  [KIND.log]: [1, 1],
  [KIND.call]: [2, 3],
  [KIND.exit]: [1, 1],
};

export interface WireRecord {
  extension: number;
  kind: number;
  number: number;
  /** Of memory that is the record's own, or the reader's until it is given the next bytes: copy what is kept. */
  parts: readonly Uint8Array[];
}

/** Length, extension, kind, number. */
const HEAD_BYTES = 13;
/** Length, extension, kind: what it takes to judge the length. */
const KNOWN_BYTES = 9;

/** One record as bytes. Text is written as UTF-8. */
export function encodeRecord(
  extension: number,
  kind: number,
  number: number,
  parts: readonly (string | Uint8Array)[],
): Buffer {
  let size = HEAD_BYTES;
  const sizes = parts.map((part) => {
    const bytes = typeof part === "string" ? Buffer.byteLength(part) : part.byteLength;
    size += 4 + bytes;
    return bytes;
  });
  const record = Buffer.allocUnsafe(size);
  record.writeUInt32LE(size - 4, 0);
  record.writeUInt32LE(extension, 4);
  record.writeUInt8(kind, 8);
  record.writeUInt32LE(number, 9);
  let at = HEAD_BYTES;
  for (const [index, part] of parts.entries()) {
    record.writeUInt32LE(sizes[index]!, at);
    at += 4;
    if (typeof part === "string") record.write(part, at);
    else record.set(part, at);
    at += sizes[index]!;
  }
  return record;
}

/** The text of a part. What is no UTF-8 becomes U+FFFD, as a lone surrogate does when it is written. */
export function partText(part: Uint8Array): string {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString("utf8");
}

/** Takes bytes as they come and gives records. What breaks the form is told once, and nothing is read after it. */
export class RecordReader {
  readonly #maxBytes: (kind: number) => number;
  readonly #onRecord: (record: WireRecord) => void;
  readonly #onProblem: (problem: string) => void;
  /** What has come of the record under way. */
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  /** How much it takes to go on: a head, or a whole record. */
  #wanted = KNOWN_BYTES;
  #broken = false;

  /** @param maxBytes the longest record of a kind */
  constructor(
    maxBytes: (kind: number) => number,
    onRecord: (record: WireRecord) => void,
    onProblem: (problem: string) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#onRecord = onRecord;
    this.#onProblem = onProblem;
  }

  push(chunk: Uint8Array): void {
    if (this.#broken || chunk.byteLength === 0) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes < this.#wanted) return;
    let data = joined(this.#chunks, this.#bytes);
    while (data.length >= KNOWN_BYTES) {
      const size = data.readUInt32LE(0) + 4;
      if (size < HEAD_BYTES || size > this.#maxBytes(data.readUInt8(8)))
        return this.#break(`sent a record of ${size} bytes`);
      this.#wanted = size;
      if (data.length < size) break;
      const record = readRecord(data.subarray(0, size));
      if (!record) return this.#break("sent a record that is none");
      data = data.subarray(size);
      this.#wanted = KNOWN_BYTES;
      this.#onRecord(record);
      if (this.#broken) return;
    }
    this.#chunks = data.length > 0 ? [data] : [];
    this.#bytes = data.length;
  }

  /** Reads no more. */
  stop(): void {
    this.#broken = true;
    this.#chunks = [];
  }

  #break(problem: string): void {
    this.stop();
    this.#onProblem(problem);
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Buffer {
  const only = chunks[0]!;
  if (chunks.length === 1) return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  return Buffer.concat(chunks, bytes);
}

function readRecord(data: Buffer): WireRecord | undefined {
  const kind = data.readUInt8(8);
  const [least, most] = PARTS[kind] ?? [1, 0];
  const parts: Uint8Array[] = [];
  let at = HEAD_BYTES;
  while (at < data.length) {
    if (parts.length === most || at + 4 > data.length) return undefined;
    const end = at + 4 + data.readUInt32LE(at);
    if (end > data.length) return undefined;
    parts.push(data.subarray(at + 4, end));
    at = end;
  }
  if (parts.length < least || most < least) return undefined;
  return { extension: data.readUInt32LE(4), kind, number: data.readUInt32LE(9), parts };
}
