/**
 * What is expected of extensions that others wrote, as data: `expect/*.yml`, each file a map from an extension's name to an
 * `Expectation`. From this the tests take what they do, and the manual its table (table.ts).
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { KINDS } from "../../sandbox/permissions/permissions.ts";

/** Part of a value: texts contain theirs, lists have an element for each of theirs, objects have their members. */
export type Partial = unknown;

const partial: z.ZodType<Partial> = z.unknown();
const texts = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

/** One answer of the model, and what its request must be like. */
const turn = z.strictObject({
  text: z.string().optional(),
  thinking: z.string().optional(),
  toolCalls: z
    .array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) }))
    .optional(),
  status: z.number().optional(),
  /** Tokens that the answer says its request had. */
  tokens: z.number().optional(),
  /** In ms, before the answer. */
  delay: z.number().optional(),
  /** Texts in the last message of the request. */
  after: texts.optional(),
  /** Texts that are not in it. */
  afterLacks: texts.optional(),
  /** Texts in the system prompt, and in any message. */
  system: texts.optional(),
  holds: texts.optional(),
  /** Texts that are nowhere in the request. */
  lacks: texts.optional(),
  /** The id of the model that is asked. */
  asked: z.string().optional(),
  /** Tools that are offered, and tools that are not. */
  tools: texts.optional(),
  withoutTools: texts.optional(),
});

const step = z.union([
  /** A prompt; `now`: without waiting for what goes on. */
  z.strictObject({ prompt: z.string(), now: z.boolean().optional() }),
  /** A command of rpc mode; `$SESSION` is the file of the first session. */
  z.strictObject({ send: z.looseObject({ type: z.string() }), now: z.boolean().optional() }),
  /** A fork before the message of the user that has this text. */
  z.strictObject({ fork: z.string() }),
  /** The response to the last command or prompt. */
  z.strictObject({ reply: partial }),
  /** A question of the extension, and the user's answer; `null` cancels. */
  z.strictObject({ asked: z.string(), answer: z.union([z.string(), z.boolean(), z.null()]) }),
  /** Something that it shows. */
  z.strictObject({ shown: partial }),
  /** An event of the session. */
  z.strictObject({ event: partial }),
  /** No record of rpc mode so far is like this. */
  z.strictObject({ never: partial }),
  /** An entry of the session. */
  z.strictObject({ entry: partial }),
  /** A file and what it contains; `null`: there is none. */
  z.strictObject({ file: z.string(), contains: z.union([z.string(), z.null()]) }),
  z.strictObject({ write: z.string(), text: z.string() }),
  /** A shell command in the working folder; its output has the text. */
  z.strictObject({ shell: z.string(), contains: z.string().optional() }),
  /** The client closes standard input, and the program ends. */
  z.strictObject({ close: z.literal(true) }),
  /** The program ends by itself, with status 0. */
  z.strictObject({ ends: z.literal(true) }),
]);

const parts = z.strictObject({
  /** Texts of files; a path begins with work/, home/, data/, tmp/ or bin/ (programs on the PATH). */
  files: z.record(z.string(), z.string()).optional(),
  /** Run by a shell in the working folder before the session. */
  before: z.string().optional(),
  /** Run behind it, however it ends. */
  after: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
  /** More words of the command line. */
  args: z.array(z.string()).optional(),
  /** Members of models.yml beside the scripted model, which is `local/test`. */
  providers: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  model: z.array(turn).optional(),
  steps: z.array(step).optional(),
  /** What it asks for besides and does without: texts in the questions, which are denied. */
  denied: z.array(z.string()).optional(),
  /** Texts of errors of its handlers that the session goes on from: what does not work of it (`note` says so to people). */
  fails: z.array(z.string()).optional(),
});

const DEFAULTS = { files: {}, env: {}, args: [], providers: {}, model: [], steps: [], denied: [], fails: [] };

const registrations = z.strictObject({
  events: z.array(z.string()).default([]),
  tools: z.array(z.string()).default([]),
  commands: z.array(z.string()).default([]),
  flags: z.array(z.string()).default([]),
  shortcuts: z.array(z.string()).default([]),
  messageRenderers: z.array(z.string()).default([]),
  providers: z.array(z.string()).default([]),
});

const expectation = z
  .strictObject({
    /** Versions of the package that have it. */
    versions: z.array(z.string()).optional(),
    registers: registrations.partial().optional(),
    /** The permissions that it needs for what is checked. */
    needs: z.partialRecord(z.enum(KINDS), z.array(z.string())).default({}),
    /** The module, where the package.json names none. */
    entry: z.string().optional(),
    /** What is checked, for the table. */
    checked: z.string().optional(),
    /** What is left to the tests of the terminal UI. */
    terminal: z.string().optional(),
    /** Why it can't work in a sandbox. */
    never: z.string().optional(),
    /** What does not work of it, for the table. */
    note: z.string().optional(),
    ...parts.shape,
    /** A second session, for another version of the same extension. */
    others: z
      .record(z.string(), z.strictObject({ registers: registrations.partial().optional(), ...parts.shape }))
      .default({}),
  })
  .refine((one) => one.never !== undefined || one.checked !== undefined || one.terminal !== undefined, {
    message: "says neither what is checked, nor what is left to the terminal, nor why it can't work",
  });

export type Expectation = z.output<typeof expectation>;
export type Turn = z.output<typeof turn>;
export type Step = z.output<typeof step>;
type Parts = z.output<typeof parts>;
export type Scenario = { [Name in keyof typeof DEFAULTS]: NonNullable<Parts[Name]> } & Pick<
  Parts,
  "before" | "after"
>;
export type Registrations = z.output<typeof registrations>;

const folder = fileURLToPath(new URL("expect/", import.meta.url));

/** The expectations in the files whose name begins with `kind`, by the extension's name. Throws for what is no expectation. */
export function expectations(kind: "examples" | "packages"): Map<string, Expectation> {
  const found = new Map<string, Expectation>();
  for (const file of readdirSync(folder).sort()) {
    if (!file.startsWith(kind)) continue;
    const entries = parse(readFileSync(folder + file, "utf8")) as Record<string, unknown>;
    for (const [name, value] of Object.entries(entries)) {
      if (found.has(name)) throw new Error(`${file}: ${name} is there twice`);
      const result = expectation.safeParse(value);
      if (!result.success) throw new Error(`${file}: ${name}: ${z.prettifyError(result.error)}`);
      found.set(name, result.data);
    }
  }
  return found;
}

/** The session that is played for this version, with defaults in the place of what is missing. */
export function scenarioOf(expected: Expectation, version?: string): Scenario {
  const own = (version === undefined ? undefined : expected.others[version]) ?? {};
  const given = { ...expected, ...own } as z.output<typeof parts>;
  const names = Object.keys(parts.shape) as (keyof typeof given)[];
  const chosen = Object.fromEntries(
    names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
  return { ...DEFAULTS, ...chosen };
}

export function registrationsOf(expected: Expectation, version?: string): Registrations {
  const own = version === undefined ? undefined : expected.others[version]?.registers;
  return registrations.parse(own ?? expected.registers ?? {});
}

/** Whether `actual` has all of `expected`. */
export function matches(actual: unknown, expected: Partial): boolean {
  if (typeof expected === "string") return typeof actual === "string" && actual.includes(expected);
  if (Array.isArray(expected)) {
    return Array.isArray(actual) && expected.every((one) => actual.some((other) => matches(other, one)));
  }
  if (typeof expected === "object" && expected !== null) {
    return (
      typeof actual === "object" &&
      actual !== null &&
      Object.entries(expected).every(([key, value]) =>
        matches((actual as Record<string, unknown>)[key], value),
      )
    );
  }
  return actual === expected;
}
