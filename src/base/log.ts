import { print } from "./output.ts";
import { stripControls } from "./text.ts";

type Level = "debug" | "info" | "warn" | "error";

const secrets = new Set<string>();
let verbose = false;

/** What people give as the key of a server that wants none. */
const PLACEHOLDERS = new Set(["lm-studio", "not-needed", "not-required", "no-key"]);

/**
 * Values that must never be printed (keys, tokens). Shorter than 6 characters is ignored, and so are single words in small letters
 * (`ollama`, `message`) and what is commonly given to local servers: they would hide plain words.
 */
export function addSecret(value: string | undefined): void {
  if (!value || value.length < 6 || PLACEHOLDERS.has(value) || /^[a-z]{6,15}$/.test(value)) return;
  secrets.add(value);
  // As it stands in JSON.
  secrets.add(JSON.stringify(value).slice(1, -1));
  ordered = undefined;
}

/** So many of one extension are hidden; of more, the latest. */
const MOST_OF_ONE = 100;
const given = new Map<string, Set<string>>();

/**
 * Like `addSecret`, for what an extension says is one: it may say so again and again, and of what is none. Neither fills memory, and
 * no sentence or address can be hidden so.
 */
export function addSecretOf(owner: string, value: string | undefined): void {
  if (!value || value.length < 6 || PLACEHOLDERS.has(value) || /^[a-z]{6,15}$|\s|:\/\//.test(value)) return;
  const own = given.get(owner) ?? new Set();
  given.set(owner, own);
  for (const form of [value, JSON.stringify(value).slice(1, -1)]) {
    own.delete(form);
    own.add(form);
  }
  ordered = undefined;
  for (const oldest of own) {
    if (own.size <= MOST_OF_ONE) break;
    own.delete(oldest);
  }
}

let ordered: readonly string[] | undefined;

/** The longest first: one may stand in another. What extensions say comes after what is known. */
function inOrder(): readonly string[] {
  const longest = (a: string, b: string): number => b.length - a.length;
  ordered ??= [
    ...[...secrets].sort(longest),
    ...[...given.values()].flatMap((own) => [...own]).sort(longest),
  ];
  return ordered;
}

/** `text` with each known secret replaced by `[secret]`. Everything that is printed or stored as an error goes through it. */
export function redact(text: string): string {
  let result = text;
  for (const secret of inOrder()) result = result.replaceAll(secret, "[secret]");
  return result;
}

/** For `JSON.stringify`: the texts in a value, and nothing else of it, redacted. */
export function redactTexts(_key: string, value: unknown): unknown {
  return typeof value === "string" ? redact(value) : value;
}

/** Shows debug and info lines on standard error too (`--verbose`). */
export function setVerbose(on: boolean): void {
  verbose = on;
}

function write(level: Level, message: string): void {
  if ((level === "debug" || level === "info") && !verbose) return;
  const text = stripControls(redact(message)).trimEnd();
  print("stderr", level === "warn" || level === "error" ? `xdev: ${text}\n` : `xdev [${level}] ${text}\n`);
}

/** The one logger. Lines go to standard error, redacted, with control characters made harmless. */
export const log = {
  debug: (message: string) => write("debug", message),
  info: (message: string) => write("info", message),
  warn: (message: string) => write("warn", message),
  error: (message: string) => write("error", message),
};
