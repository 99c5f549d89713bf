import { describeErrorAndPlace, type Transmitter } from "./transmit.ts";

/** `console`: every line goes to the extension's log. */
export function createConsole(transmitter: Transmitter): Record<string, (...values: unknown[]) => void> {
  const line =
    (level: string) =>
    (...values: unknown[]): void =>
      transmitter.log(level, values.map(inspect).join(" "));
  const nothing = (): void => {};
  return {
    log: line("info"),
    info: line("info"),
    debug: line("debug"),
    trace: line("debug"),
    dir: line("info"),
    table: line("info"),
    warn: line("warn"),
    error: line("error"),
    assert: (condition, ...values) => {
      if (!condition) line("error")("assertion failed:", ...values);
    },
    group: line("info"),
    groupEnd: nothing,
    time: nothing,
    timeEnd: nothing,
  };
}

function inspect(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return describeErrorAndPlace(value);
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "[object]";
  }
}
