/**
 * `scripts/bench session`: what it takes to append to a session, to open, to list and to build the context of one, at three
 * lengths; and a list of 10,000 sessions next to reading the first 4 KB of each file. Sides and lengths take turns, since a
 * machine's speed changes over seconds; figures are medians.
 */
import { closeSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { listSessions, SessionStore, summaryOf } from "../../src/session/index.ts";
import { percentile } from "./measure.ts";
import { measureStream, type StreamFigures } from "./stream.ts";

export const LENGTHS = [1000, 10_000, 100_000] as const;
export type Length = (typeof LENGTHS)[number];

/** How many sessions are listed. */
export const SESSIONS = 10_000;
/** How many entries are added in one go. */
const APPENDED = 500;

export interface LengthFigures {
  /** One entry more, in µs. */
  append: number;
  /** In ms. */
  open: number;
  /** Its line in a list, in µs. */
  list: number;
  /** All its messages, in ms. */
  context: number;
  /** Of the file, in MB (10^6 bytes). */
  megabytes: number;
}

export interface SessionResult {
  runs: number;
  bun: string;
  /** What else there was to do for the machine: its load average when this began. */
  load: number;
  lengths: Record<Length, LengthFigures>;
  /** All sessions, in ms. */
  listed: {
    ours: number;
    /** Where no list was made before. */
    first: number;
    reading: number;
  };
  stream: StreamFigures;
}

/** Throws when something fails. Leaves no file behind. */
export async function benchmarkSession(options: {
  runs: number;
  progress(text: string): void;
}): Promise<SessionResult> {
  const { runs, progress } = options;
  const load = loadavg()[0]!;
  const scratch = await mkdtemp(join(tmpdir(), "xdev-bench-"));
  try {
    progress("writing sessions");
    const lengths = await measureLengths(scratch, runs, progress);
    progress(`${runs} lists of ${SESSIONS} sessions`);
    const listed = await measureList(join(scratch, "many"), runs);
    progress("answers in json mode");
    const stream = await measureStream(join(scratch, "stream"), runs);
    return { runs, bun: Bun.version, load, lengths, listed, stream };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function measureLengths(
  scratch: string,
  runs: number,
  progress: (text: string) => void,
): Promise<SessionResult["lengths"]> {
  const figures = {} as SessionResult["lengths"];
  const samples = new Map<Length, Record<"append" | "open" | "list" | "context", number[]>>();
  const path = (length: Length) => join(scratch, `${length}.jsonl`);
  for (const length of LENGTHS) {
    const text = sessionText(String(length), length);
    writeFileSync(path(length), text);
    figures[length] = { append: 0, open: 0, list: 0, context: 0, megabytes: text.length / 1e6 };
    samples.set(length, { append: [], open: [], list: [], context: [] });
  }
  progress(`${runs} rounds of sessions with ${LENGTHS.join(", ")} entries`);
  for (let round = 0; round <= runs; round++) {
    for (const length of LENGTHS) {
      const open = await timed(() => SessionStore.open(path(length), { dataDir: scratch, access: "read" }));
      const context = await timed(async () => open.result.buildContext());
      const list = await timed(async () => {
        for (let n = 0; n < 100; n++) summaryOf(path(length));
      });
      open.result.close();
      // On a copy, so that the session stays as long as it is.
      const copy = `${path(length)}.copy`;
      writeFileSync(copy, sessionText("copy", length));
      const store = await SessionStore.open(copy, { dataDir: scratch });
      const append = await timed(async () => {
        for (let n = 0; n < APPENDED; n++) store.append({ type: "custom", customType: "bench", data: { n } });
      });
      store.close();
      // The first round fills caches.
      if (round === 0) continue;
      const of = samples.get(length)!;
      of.open.push(open.ms);
      of.context.push(context.ms);
      of.list.push((list.ms * 1000) / 100);
      of.append.push((append.ms * 1000) / APPENDED);
    }
  }
  for (const [length, of] of samples) {
    for (const what of ["append", "open", "list", "context"] as const) {
      figures[length][what] = percentile(of[what], 0.5);
    }
  }
  return figures;
}

async function measureList(dataDir: string, runs: number): Promise<SessionResult["listed"]> {
  const paths = Array.from({ length: SESSIONS }, (_, n) =>
    join(dataDir, "sessions", `--work-${n % 50}--`, `2026-01-01T00-00-00-000Z_${n}.jsonl`),
  );
  paths.forEach((path, n) => {
    mkdirSync(dirname(path), { recursive: true });
    // From one turn to some hundred entries.
    writeFileSync(path, sessionText(String(n), 2 + ((n * 7) % 100)));
  });
  const ours: number[] = [];
  const first: number[] = [];
  const reading: number[] = [];
  const bytes = Buffer.allocUnsafe(4096);
  for (let round = 0; round <= runs; round++) {
    const read = await timed(async () => {
      for (const path of paths) {
        const fd = openSync(path, "r");
        readSync(fd, bytes, 0, 4096, 0);
        closeSync(fd);
      }
    });
    await rm(join(dataDir, "sessions", ".list.json"), { force: true });
    const unknown = await timed(() => listSessions(dataDir));
    const list = await timed(() => listSessions(dataDir));
    if (list.result.length !== SESSIONS) throw new Error(`${list.result.length} sessions were listed`);
    if (round === 0) continue;
    reading.push(read.ms);
    first.push(unknown.ms);
    ours.push(list.ms);
  }
  const median = (values: number[]) => percentile(values, 0.5);
  return { ours: median(ours), first: median(first), reading: median(reading) };
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const start = performance.now();
  const result = await work();
  return { result, ms: performance.now() - start };
}

const TIMESTAMP = "2026-01-01T00:00:00.000Z";
const USAGE = { input: 900, output: 80, cacheRead: 0, cacheWrite: 0, totalTokens: 980 };

/** A session as turns with a tool call: a user message, an answer, its call's result, an answer. */
function sessionText(id: string, entries: number): string {
  const lines = [
    JSON.stringify({ type: "session", version: 3, id, timestamp: TIMESTAMP, cwd: "/work/demo" }),
  ];
  for (let n = 0; n < entries; n++) {
    const place = (of: number) => of.toString(16).padStart(8, "0");
    const parentId = n === 0 ? null : place(n - 1);
    const entry = { type: "message", id: place(n), parentId, timestamp: TIMESTAMP, message: messageAt(n) };
    lines.push(JSON.stringify(entry));
  }
  return `${lines.join("\n")}\n`;
}

function messageAt(n: number): object {
  const text = `${n}: ${"what is said here has a length that is usual. ".repeat(4)}`;
  if (n % 4 === 0) return { role: "user", content: text, timestamp: n };
  const content = [{ type: "text", text }];
  if (n % 4 === 2) {
    return {
      role: "toolResult",
      toolCallId: `c${n}`,
      toolName: "bash",
      content,
      isError: false,
      timestamp: n,
    };
  }
  return {
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "local",
    model: "small",
    usage: USAGE,
    stopReason: "stop",
    timestamp: n,
  };
}
