/** `node:perf_hooks`, and the global `performance`: a clock of whole milliseconds that never goes back, marks and measures. */

import { requireFunction } from "./errors.ts";
import { named } from "./named.ts";

const timeOrigin = Date.now();
let latest = 0;

function now(): number {
  const elapsed = Date.now() - timeOrigin;
  if (elapsed > latest) latest = elapsed;
  return latest;
}

export class PerformanceEntry {
  readonly name: string;
  readonly entryType: string;
  readonly startTime: number;
  readonly duration: number;
  readonly detail: unknown;

  constructor(name: string, entryType: string, startTime: number, duration: number, detail: unknown) {
    this.name = name;
    this.entryType = entryType;
    this.startTime = startTime;
    this.duration = duration;
    this.detail = detail;
  }

  toJSON(): object {
    const { name, entryType, startTime, duration, detail } = this;
    return { name, entryType, startTime, duration, detail };
  }
}

export class PerformanceMark extends PerformanceEntry {
  constructor(name: string, options: { startTime?: number; detail?: unknown } = {}) {
    super(`${name}`, "mark", options.startTime ?? now(), 0, options.detail ?? null);
  }
}

export class PerformanceMeasure extends PerformanceEntry {}

/** The last of this many are kept. */
const MAX_ENTRIES = 10_000;
let entries: PerformanceEntry[] = [];
const observers = new Set<PerformanceObserver>();

function add<T extends PerformanceEntry>(entry: T): T {
  entries.push(entry);
  if (entries.length > MAX_ENTRIES) entries.shift();
  for (const observer of observers) observer.take(entry);
  return entry;
}

function timeOf(mark: string | number | undefined, otherwise: number): number {
  if (mark === undefined) return otherwise;
  if (typeof mark === "number") return mark;
  const entry = entries.findLast(({ entryType, name }) => entryType === "mark" && name === mark);
  if (entry) return entry.startTime;
  throw Object.assign(new SyntaxError(`The "${mark}" performance mark has not been set`), { code: 12 });
}

interface MeasureOptions {
  start?: string | number;
  end?: string | number;
  duration?: number;
  detail?: unknown;
}

export class Performance {
  get timeOrigin(): number {
    return timeOrigin;
  }

  now(): number {
    return now();
  }

  mark(name: string, options?: { startTime?: number; detail?: unknown }): PerformanceMark {
    return add(new PerformanceMark(name, options));
  }

  measure(name: string, from?: string | MeasureOptions, to?: string): PerformanceMeasure {
    const options = typeof from === "object" ? from : { start: from, end: to };
    const { duration } = options as MeasureOptions;
    let start = timeOf(options.start, 0);
    let end = timeOf(options.end, now());
    if (duration !== undefined) {
      if (options.start !== undefined) end = start + duration;
      else start = end - duration;
    }
    const detail = (options as MeasureOptions).detail ?? null;
    return add(new PerformanceMeasure(`${name}`, "measure", start, end - start, detail));
  }

  clearMarks(name?: string): void {
    entries = entries.filter((one) => one.entryType !== "mark" || (name !== undefined && one.name !== name));
  }

  clearMeasures(name?: string): void {
    entries = entries.filter(
      (one) => one.entryType !== "measure" || (name !== undefined && one.name !== name),
    );
  }

  getEntries(): PerformanceEntry[] {
    return entries.toSorted((a, b) => a.startTime - b.startTime);
  }

  getEntriesByName(name: string, type?: string): PerformanceEntry[] {
    return this.getEntries().filter(
      (one) => one.name === name && (type === undefined || one.entryType === type),
    );
  }

  getEntriesByType(type: string): PerformanceEntry[] {
    return this.getEntries().filter(({ entryType }) => entryType === type);
  }

  timerify<F>(run: F): F {
    requireFunction("fn", run);
    return run;
  }

  eventLoopUtilization(): { idle: number; active: number; utilization: number } {
    return { idle: 0, active: 0, utilization: 0 };
  }

  toJSON(): object {
    return { timeOrigin };
  }
}

interface EntryList {
  getEntries(): PerformanceEntry[];
  getEntriesByName(name: string): PerformanceEntry[];
  getEntriesByType(type: string): PerformanceEntry[];
}

export class PerformanceObserver {
  static readonly supportedEntryTypes: readonly string[] = ["mark", "measure"];
  readonly #callback: (list: EntryList, observer: PerformanceObserver) => void;
  #types = new Set<string>();
  #waiting: PerformanceEntry[] = [];

  constructor(callback: (list: EntryList, observer: PerformanceObserver) => void) {
    requireFunction("callback", callback);
    this.#callback = callback;
  }

  observe(options: { entryTypes?: string[]; type?: string }): void {
    this.#types = new Set(options.entryTypes ?? [options.type ?? ""]);
    observers.add(this);
  }

  disconnect(): void {
    observers.delete(this);
    this.#waiting = [];
  }

  takeRecords(): PerformanceEntry[] {
    return this.#waiting.splice(0);
  }

  /** An entry that was made. */
  take(entry: PerformanceEntry): void {
    if (!this.#types.has(entry.entryType)) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > 1) return;
    queueMicrotask(() => {
      const list = this.takeRecords();
      if (list.length === 0) return;
      this.#callback(
        {
          getEntries: () => list,
          getEntriesByName: (name) => list.filter((one) => one.name === name),
          getEntriesByType: (type) => list.filter((one) => one.entryType === type),
        },
        this,
      );
    });
  }
}

export const performance: Performance = new Performance();
export const constants: Readonly<Record<string, number>> = {};

export default named({
  constants,
  performance,
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
});
