/**
 * Large parts of an entry as blobs. In the line a text keeps its beginning and says where the rest is, and an image becomes such
 * a text, so that the line is what it was to every other agent: valid, and short. The entry's member `blobs` says what to put
 * back where.
 */
import * as v from "valibot";
import type { BlobStore } from "./blobs.ts";
import type { RawEntry } from "./schema.ts";

/** Texts, and images in base64, from this many characters on. */
export const LARGE = 32 * 1024;
/** What a text keeps, in characters. */
const HEAD = 1000;
/** The members of an entry that may be large. */
const PARTS = ["message", "content", "details"];
/** How deep in an entry we look. */
const DEPTH = 8;

const reference = v.object({
  /** The way from the entry to what was replaced. */
  at: v.pipe(v.array(v.union([v.string(), v.number()])), v.minLength(1), v.maxLength(DEPTH + 2)),
  sha256: v.string(),
  /** `text`: a string. `image`: a block, whose other members are in `block`. */
  kind: v.picklist(["text", "image"]),
  block: v.optional(v.record(v.string(), v.unknown())),
});
type Reference = v.InferOutput<typeof reference>;
const references = v.pipe(v.array(reference), v.maxLength(10_000));

/** Whose content we own: what a model said, and what extensions keep, is another program's to read. */
const ROLES = ["user", "toolResult", "custom", "bashExecution", "pythonExecution"];

export function mayBeLarge(entry: { type: string; message?: unknown }): boolean {
  if (entry.type === "custom_message") return true;
  const role = (entry.message as { role?: unknown } | undefined)?.role;
  return entry.type === "message" && typeof role === "string" && ROLES.includes(role);
}

/** Changes the entry: moves its large parts to the blob store, for the session in the file `owner`. */
export function moveOut(entry: RawEntry, blobs: BlobStore, owner: string): void {
  const moved: Reference[] = [];
  const visit = (container: object, at: (string | number)[]): void => {
    for (const [key, value] of Object.entries(container)) {
      if (container === entry && !PARTS.includes(key)) continue;
      const here = [...at, Array.isArray(container) ? Number(key) : key];
      if (typeof value === "string") {
        if (value.length < LARGE || !isWellFormed(value)) continue;
        const bytes = Buffer.from(value);
        const sha256 = blobs.put(bytes, owner);
        moved.push({ at: here, sha256, kind: "text" });
        set(container, key, `${cut(value)}\n[… ${bytes.length} bytes in all: blob sha256:${sha256}]`);
      } else if (isImage(value) && value.data.length >= LARGE) {
        const { data, ...block } = value;
        const bytes = Buffer.from(data, "base64");
        if (bytes.toString("base64") !== data) continue;
        const sha256 = blobs.put(bytes, owner);
        moved.push({ at: here, sha256, kind: "image", block });
        const text = `[${value.mimeType}, ${bytes.length} bytes: blob sha256:${sha256}]`;
        set(container, key, { type: "text", text });
      } else if (typeof value === "object" && value !== null && here.length < DEPTH) visit(value, here);
    }
  };
  visit(entry, []);
  // A member `blobs` of another program stays its own.
  if (moved.length > 0 && entry.blobs === undefined) entry.blobs = moved;
}

/** Puts the large parts back. Gives the number of those that are no longer there: the text in their place stays. */
export function bringBack(entry: RawEntry, blobs: BlobStore): number {
  let missing = 0;
  const parsed = v.safeParse(references, entry.blobs);
  if (parsed.success) {
    let isComplete = true;
    for (const { at, sha256, kind, block } of parsed.output) {
      const container = at.slice(0, -1).reduce<unknown>(inside, entry);
      const bytes = blobs.get(sha256);
      if (bytes === undefined || typeof container !== "object" || container === null) {
        isComplete = false;
        missing++;
      } else if (kind === "text") set(container, at.at(-1)!, bytes.toString("utf8"));
      else set(container, at.at(-1)!, { ...block, data: bytes.toString("base64") });
    }
    if (isComplete) delete entry.blobs;
  }
  return missing;
}

/** The digests that a line refers to. */
export function digestsOf(entry: RawEntry): string[] {
  const parsed = v.safeParse(references, entry.blobs);
  return parsed.success ? parsed.output.map(({ sha256 }) => sha256) : [];
}

/**
 * Puts back what oh-my-pi has moved to its own store of blobs, which has the same form: an image's data, or a text, that is
 * nothing but a reference.
 */
export function bringBackForeign(entry: RawEntry, blobs: BlobStore): number {
  let missing = 0;
  const visit = (container: object, depth: number): void => {
    for (const [key, value] of Object.entries(container)) {
      if (typeof value === "string") {
        const [, text, sha256] = /^blob(text)?:sha256:([0-9a-f]{64})$/.exec(value) ?? [];
        if (sha256 === undefined) continue;
        const bytes = blobs.get(sha256);
        if (bytes) set(container, key, bytes.toString(text ? "utf8" : "base64"));
        else missing++;
      } else if (typeof value === "object" && value !== null && depth < DEPTH) visit(value, depth + 1);
    }
  };
  visit(entry, 0);
  return missing;
}

function isImage(value: unknown): value is { type: "image"; data: string; mimeType: string } {
  const { type, data, mimeType } = (value ?? {}) as Record<string, unknown>;
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}

function inside(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}

function set(container: object, key: string | number, value: unknown): void {
  if (!Object.hasOwn(container, key)) return;
  (container as Record<string | number, unknown>)[key] = value;
}

/** Half a character can't be kept as bytes. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function cut(text: string): string {
  return text.slice(0, /[\ud800-\udbff]/.test(text[HEAD - 1]!) ? HEAD - 1 : HEAD);
}
