/** Where two JSON values differ, as paths with what was and what is there. Order of an object's members is no difference. */

export interface Difference {
  /** `payload.events[2]`; empty for the value as a whole. */
  path: string;
  /** Absent: nothing was there. */
  recorded?: unknown;
  /** Absent: nothing is there now. */
  replayed?: unknown;
}

type Report = (difference: Difference) => void;

/** Differences beyond this many are not looked for. */
const MAX_DIFFERENCES = 100;

/** The differences, in the order of the recorded value; none if they are equal. */
export function jsonDiff(recorded: unknown, replayed: unknown): Difference[] {
  const found: Difference[] = [];
  try {
    compare("", recorded, replayed, (difference) => {
      if (found.length < MAX_DIFFERENCES) found.push(difference);
    });
  } catch {
    // Nested deeper than the stack: where they differ cannot be told.
    return [{ path: "", recorded, replayed }];
  }
  return found;
}

/** Whether two values are equal; two that are nested deeper than the stack are not. */
export function jsonEqual(one: unknown, other: unknown): boolean {
  try {
    return equal(one, other);
  } catch {
    return false;
  }
}

function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => equal(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]))
  );
}

function compare(path: string, recorded: unknown, replayed: unknown, report: Report): void {
  if (Object.is(recorded, replayed)) return;
  if (Array.isArray(recorded) && Array.isArray(replayed)) {
    compareLists(path, recorded, replayed, report);
  } else if (isObject(recorded) && isObject(replayed)) {
    compareObjects(path, recorded, replayed, report);
  } else {
    report({ path, recorded, replayed });
  }
}

function compareObjects(
  path: string,
  recorded: Record<string, unknown>,
  replayed: Record<string, unknown>,
  report: Report,
): void {
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
    const step = /^[A-Za-z_$][\w$]*$/.test(key) ? key : `[${JSON.stringify(key)}]`;
    const inner = path === "" || step.startsWith("[") ? path + step : `${path}.${step}`;
    if (!Object.hasOwn(replayed, key)) report({ path: inner, recorded: recorded[key] });
    else if (!Object.hasOwn(recorded, key)) report({ path: inner, replayed: replayed[key] });
    else compare(inner, recorded[key], replayed[key], report);
  }
}

/** Equal items at both ends are set aside, so that one item more or less is one difference and not one for each behind it. */
function compareLists(
  path: string,
  recorded: readonly unknown[],
  replayed: readonly unknown[],
  report: Report,
): void {
  const shorter = Math.min(recorded.length, replayed.length);
  let head = 0;
  while (head < shorter && equal(recorded[head], replayed[head])) head++;
  let tail = 0;
  while (tail < shorter - head && equal(recorded.at(-1 - tail), replayed.at(-1 - tail))) tail++;
  const recordedEnd = recorded.length - tail;
  const replayedEnd = replayed.length - tail;
  for (let index = head; index < Math.max(recordedEnd, replayedEnd); index++) {
    const inner = `${path}[${index}]`;
    if (index >= replayedEnd) report({ path: inner, recorded: recorded[index] });
    else if (index >= recordedEnd) report({ path: inner, replayed: replayed[index] });
    else compare(inner, recorded[index], replayed[index], report);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
