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
}

/** `text` with each known secret replaced by `[secret]`. Everything that is printed or stored as an error goes through it. */
export function redact(text: string): string {
  let result = text;
  for (const secret of secrets) result = result.replaceAll(secret, "[secret]");
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
