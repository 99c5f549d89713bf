/** Asks the user by lines of text. What is no clear yes is a no; an answer that does not come is one. */
import {
  type Answer,
  type LoadAnswer,
  type LoadQuestion,
  oneAtATime,
  type Question,
  type User,
} from "./asker.ts";
import { combinations, dangerOf } from "./danger.ts";
import { reasonKey } from "./declaration.ts";
import { COLUMNS, inScreenOrder, loadQuestionLines, permissionText } from "./describe.ts";
import { exact, quoted, widthOf } from "./display.ts";
import { permissionFor } from "./match.ts";
import { NONE, type Permission, permissionsOf } from "./permissions.ts";
import { shellQuote } from "./request-text.ts";

/** Where questions are put. */
export interface Dialog {
  write(text: string): void;
  /** One line without its end; undefined when there is none to come, or the signal aborts. */
  readLine(signal: AbortSignal): Promise<string | undefined>;
}

export interface PromptLimits {
  /** How long the question of a load may stand, in ms. */
  loadMs: number;
  /** How long a question at the point of use may stand, in ms. */
  useMs: number;
}

export const LIMITS: PromptLimits = { loadMs: 600_000, useMs: 120_000 };
/** After so many answers that are none, there is none. */
const ATTEMPTS = 3;

/** The user behind a dialog; he gets one question at a time. */
export function dialogUser(dialog: Dialog, limits: PromptLimits = LIMITS): User {
  return oneAtATime({
    ask: (question) => askForUse(dialog, question, limits.useMs),
    askAtLoad: (question) => askAtLoad(dialog, question, limits.loadMs),
  });
}

async function askAtLoad(
  dialog: Dialog,
  question: LoadQuestion,
  ms: number,
): Promise<LoadAnswer | undefined> {
  const lines = loadQuestionLines(question);
  dialog.write(`${lines.join("\n")}\n`);
  const signal = limited(question.signal, ms);
  const choice = await choose(dialog, signal, "[a]llow, allow for this [s]ession, [c]hoose, [D]eny: ", {
    a: "allow",
    allow: "allow",
    s: "session",
    session: "session",
    c: "choose",
    choose: "choose",
    d: "deny",
    deny: "deny",
    "": "deny",
  });
  switch (choice) {
    case "allow":
      return { granted: question.toAsk, lasts: "always" };
    case "session":
      return { granted: question.toAsk, lasts: "session" };
    case "deny":
      return { granted: NONE, lasts: "always" };
    case "choose":
      return chooseEach(dialog, question, signal);
    default:
      dialog.write("\nNo answer: denied for now.\n");
      return undefined;
  }
}

async function chooseEach(
  dialog: Dialog,
  question: LoadQuestion,
  signal: AbortSignal,
): Promise<LoadAnswer | undefined> {
  const granted: Permission[] = [];
  const { reasons } = question.declaration;
  for (const permission of inScreenOrder(question.toAsk, reasons)) {
    const reason = reasons.get(reasonKey(permission));
    const why = reason === undefined ? "" : `\n      ${quoted(reason, COLUMNS - 6)}\n    allow that`;
    const text = `  ${marked(permission)}${why}? [y/N] `;
    const words = { y: "yes", yes: "yes", n: "no", no: "no", "": "no" } as const;
    // What was said to the others counts, whatever is said here.
    const answer = await choose(dialog, signal, text, words, "no");
    if (answer === undefined) {
      dialog.write("\nNo answer: all of it is denied for now.\n");
      return undefined;
    }
    if (answer === "yes") granted.push(permission);
  }
  return { granted: permissionsOf(granted), lasts: "always" };
}

function marked(permission: Permission): string {
  const danger = dangerOf(permission);
  return danger === undefined ? permissionText(permission) : `! ${permissionText(permission)} (${danger})`;
}

/** What the user is told with a question at the point of use, in lines; the first says what is wanted. */
export function useQuestionLines({ extension, request, permission }: Question): string[] {
  const asked = permissionFor(request);
  const lines = [`Extension ${exact(extension, 40)} wants to ${marked(asked)}`];
  if (request.kind === "run") lines.push(...argumentLines(request.args));
  if (permission.value !== asked.value) {
    const behind = request.kind === "run" ? ", whatever follows it" : "";
    lines.push(`  Longer than once means ${permissionText(permission)}${behind}.`);
  } else if (request.kind === "run") lines.push("  Longer than once means with any arguments.");
  if (request.kind === "net-address" && request.host !== request.address) {
    lines.push(`  ${exact(request.host, 40)} leads to that address, which is not on the public internet.`);
  }
  lines.push(...combinations(permissionsOf([permission])).map((sentence) => `  ${sentence}`));
  return lines;
}

async function askForUse(dialog: Dialog, question: Question, ms: number): Promise<Answer> {
  const { lasting } = question;
  dialog.write(`${useQuestionLines(question).join("\n")}\n`);
  const always: Record<string, Answer> = lasting ? { a: "always", always: "always" } : {};
  const answer = await choose<Answer>(
    dialog,
    limited(question.signal, ms),
    `[o]nce, this [s]ession, ${lasting ? "[a]lways, " : ""}ne[v]er, [D]eny for now: `,
    {
      o: "once",
      once: "once",
      s: "session",
      session: "session",
      ...always,
      v: "never",
      never: "never",
      d: "deny",
      deny: "deny",
      "": "deny",
    },
  );
  if (answer === undefined) dialog.write("\nNo answer: denied for now.\n");
  return answer ?? "deny";
}

/** The most lines that a program's arguments take. */
const ARGUMENT_LINES = 8;
const ARGUMENT_COLUMNS = 64;

/** As a shell would take them, so that each is seen to be one; all of them, or how much there is besides. */
function argumentLines(args: readonly string[]): string[] {
  if (args.length === 0) return [];
  const text = exact(args.map(shellQuote).join(" "), Number.POSITIVE_INFINITY);
  const shown = [""];
  let width = 0;
  for (const char of text) {
    width += widthOf(char);
    if (width > ARGUMENT_COLUMNS) {
      if (shown.length === ARGUMENT_LINES) break;
      shown.push("");
      width = widthOf(char);
    }
    shown[shown.length - 1] += char;
  }
  const left = text.length - shown.join("").length;
  const indented = shown.map((line, index) => (index === 0 ? `  now with: ${line}` : `            ${line}`));
  return left === 0 ? indented : [...indented, `  and ${left} more characters, which do not fit here`];
}

/** The user's choice; undefined if he makes none, and `unclear` if it can't be understood again and again. */
async function choose<T extends string>(
  dialog: Dialog,
  signal: AbortSignal,
  text: string,
  choices: Readonly<Record<string, T>>,
  unclear?: T,
): Promise<T | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    dialog.write(text);
    const line = await dialog.readLine(signal).catch(() => undefined);
    if (line === undefined || signal.aborted) return undefined;
    const word = line.trim().toLowerCase();
    if (Object.hasOwn(choices, word)) return choices[word];
  }
  return unclear;
}

/** A signal that aborts after so many ms, too. */
export function limited(signal: AbortSignal, ms: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(ms)]);
}
