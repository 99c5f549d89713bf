/** What a failed assertion throws. Bundled into `assert`. */
import { inspect } from "node:util";

export interface AssertionOptions {
  actual?: unknown;
  expected?: unknown;
  operator?: string;
  message?: string | Error | undefined;
  /** Whether `message` is ours. */
  generated?: boolean;
  stackStartFn?: unknown;
}

const TEXTS: Readonly<Record<string, string>> = {
  deepStrictEqual: "Expected values to be strictly deep-equal:",
  partialDeepStrictEqual: "Expected values to be partially and strictly deep-equal:",
  strictEqual: "Expected values to be strictly equal:",
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: "Expected values to be loosely deep-equal:",
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: "Values have same structure but are not reference-equal:",
};

export class AssertionError extends Error {
  readonly code = "ERR_ASSERTION";
  readonly generatedMessage: boolean;
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string;

  constructor(options: AssertionOptions) {
    const { message, actual, expected, operator = "fail" } = options;
    super(message === undefined ? describe(actual, expected, operator) : String(message));
    Object.defineProperty(this, "name", { value: "AssertionError", writable: true, configurable: true });
    this.generatedMessage = options.generated ?? message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}

const shown = (value: unknown): string =>
  inspect(value, {
    compact: false,
    depth: 1000,
    maxArrayLength: Infinity,
    sorted: true,
    getters: true,
    customInspect: false,
  });

const isObject = (value: unknown): boolean =>
  (typeof value === "object" && value !== null) || typeof value === "function";

function describe(actual: unknown, expected: unknown, operator: string): string {
  if (operator === "==" || operator === "!=") return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  const isNegative = operator.startsWith("not");
  const key =
    operator.endsWith("trictEqual") && !operator.includes("eep") && isObject(actual) && isObject(expected)
      ? `${operator}Object`
      : operator;
  const text = TEXTS[key] ?? operator;
  const left = shown(actual);
  const right = shown(expected);
  if (isNegative)
    return `${text}${left.includes("\n") ? "\n\n" : " "}${left}${left.includes("\n") ? "\n" : ""}`;
  if (operator === "deepEqual")
    return `${text}\n\n${inspect(actual)}\n\nshould loosely deep-equal\n\n${inspect(expected)}`;
  if (left === right && operator === "strictEqual") return `${TEXTS.notIdentical}\n\n${left}\n`;
  if (!left.includes("\n") && !right.includes("\n") && left.length + right.length < 12 && !isObject(actual)) {
    return `${text}\n\n${left} !== ${right}\n`;
  }
  return `${text}\n+ actual - expected\n\n${difference(left.split("\n"), right.split("\n"))}\n`;
}

/** Longer ones are not compared line by line. */
const MAX_LINES = 500;

/** Lines of both, those of one alone marked: the longest common subsequence. */
function difference(left: string[], right: string[]): string {
  if (left.length > MAX_LINES || right.length > MAX_LINES) {
    return [...left.map((line) => `+ ${line}`), ...right.map((line) => `- ${line}`)].join("\n");
  }
  const width = right.length + 1;
  const common = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      common[i * width + j] =
        left[i] === right[j]
          ? (common[(i + 1) * width + j + 1] as number) + 1
          : Math.max(common[(i + 1) * width + j] as number, common[i * width + j + 1] as number);
    }
  }
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      lines.push(`  ${left[i++]}`);
      j++;
    } else if (
      i < left.length &&
      (j >= right.length || (common[(i + 1) * width + j] as number) >= (common[i * width + j + 1] as number))
    ) {
      lines.push(`+ ${left[i++]}`);
    } else lines.push(`- ${right[j++]}`);
  }
  return lines.join("\n");
}
