/** `@oh-my-pi/pi-utils`: what extensions of that agent use of it. */
import { about, log, own } from "xdev:system";

type Context = Record<string, unknown>;

const agent = (): Record<string, unknown> => own("pi-coding-agent");

const write =
  (level: "debug" | "info" | "warn" | "error") =>
  (message: unknown, context?: Context): void => {
    let more = "";
    try {
      more = context === undefined ? "" : ` ${JSON.stringify(context)}`;
    } catch {
      more = " (what comes with it is no data)";
    }
    log(level, `${String(message)}${more}`);
  };

export const logger = {
  debug: write("debug"),
  info: write("info"),
  warn: write("warn"),
  error: write("error"),
};

export const hasFsCode = (error: unknown, code: string): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === code;

const ofCode =
  (code: string) =>
  (error: unknown): boolean =>
    hasFsCode(error, code);

export const isEnoent = ofCode("ENOENT");
export const isEacces = ofCode("EACCES");
export const isEisdir = ofCode("EISDIR");
export const isEnotdir = ofCode("ENOTDIR");
export const isEexist = ofCode("EEXIST");
export const isEnotempty = ofCode("ENOTEMPTY");
export const isFsError = (error: unknown): boolean =>
  error instanceof Error && typeof (error as { code?: unknown }).code === "string";

export const isRecord = (value: unknown): value is Context =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const asRecord = (value: unknown): Context | null => (isRecord(value) ? value : null);
export const toError = (value: unknown): Error => (value instanceof Error ? value : new Error(String(value)));
export const structuredCloneJSON = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
];

/** `ms` as its two largest units: `1h2m`, `3.4s`, `12ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const at = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[at]!;
  const [smaller, smallerUnit] = UNITS[at + 1]!;
  const rest = Math.floor((ms % size) / smaller);
  return `${Math.floor(ms / size)}${unit}${rest > 0 ? `${rest}${smallerUnit}` : ""}`;
}

/** 950, 1.2K, 3.4M. */
export function formatNumber(value: number): string {
  for (const [size, unit] of [
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "K"],
  ] as const) {
    if (Math.abs(value) >= size) return `${(value / size).toFixed(1)}${unit}`;
  }
  return String(value);
}

export function formatBytes(bytes: number): string {
  for (const [size, unit] of [
    [1024 ** 3, "GB"],
    [1024 ** 2, "MB"],
    [1024, "KB"],
  ] as const) {
    if (bytes >= size) return `${(bytes / size).toFixed(1)}${unit}`;
  }
  return `${bytes}B`;
}

export const truncate = (text: string, most: number, ellipsis = "…"): string =>
  text.length <= most ? text : text.slice(0, Math.max(0, most - ellipsis.length)) + ellipsis;
export const pluralize = (label: string, count: number): string => (count === 1 ? label : `${label}s`);
export const formatCount = (label: string, count: number): string => `${count} ${pluralize(label, count)}`;
export const formatPercent = (ratio: number): string => `${(ratio * 100).toFixed(1)}%`;

/** Without colours and other control sequences. */
export const sanitizeText = (text: string): string =>
  text.replace(ANSI, "").replace(CONTROLS, "").replaceAll("\r\n", "\n").replaceAll("\r", "");
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export class AbortError extends Error {
  constructor(signal?: AbortSignal) {
    super(signal?.reason instanceof Error ? signal.reason.message : "Aborted");
    this.name = "AbortError";
  }
}

/** What `work` gives, unless the signal aborts before. */
export function untilAborted<T>(signal: AbortSignal | undefined | null, work: () => Promise<T>): Promise<T> {
  if (!signal) return work();
  if (signal.aborted) return Promise.reject(new AbortError(signal));
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(new AbortError(signal));
    signal.addEventListener("abort", onAbort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Calls `make` at the first call, and gives the same again at every other. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The variables that were granted. */
export const $env: Readonly<Record<string, string>> = about.env;
export const getProjectDir = (): string => about.cwd;
export const getAgentDir = (): string => (agent().getAgentDir as () => string)();
export const parseFrontmatter = (text: string): unknown =>
  (agent().parseFrontmatter as (text: string) => unknown)(text);
export const CONFIG_DIR_NAME = ".xdev";
export const APP_NAME = "xdev";
