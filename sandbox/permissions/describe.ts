/** Permissions in plain words, and the question at the first load as the lines of one screen. */
import type { LoadQuestion } from "./asker.ts";
import { combinations, dangerOf } from "./danger.ts";
import { reasonKey } from "./declaration.ts";
import { exact, quoted, wrap } from "./display.ts";
import {
  includes,
  KINDS,
  type Kind,
  listOf,
  type Permission,
  type Permissions,
  permissionsOf,
  union,
} from "./permissions.ts";

export const COLUMNS = 80;
export const LINES = 24;
/** Lines that the choices take. */
const CHOICE_LINES = 2;
/** The longest value on the screen, in columns: enough to tell two apart. */
const VALUE_COLUMNS = 66;
/** Of harmless values so many are shown before they are counted. */
const SHOWN = 6;

const VERBS: Readonly<Record<Kind, string>> = {
  read: "read",
  write: "write",
  net: "connect to",
  run: "run",
  env: "see the variable",
  sys: "know this machine's",
  model: "call your model, at your cost",
  session: "the session:",
  ui: "talk to you",
  provider: "be a model provider",
  tools: "change or replace the tool",
  wasm: "use WebAssembly",
};

/** A value in words. */
export function valueText({ kind, value }: Permission): string {
  if (kind === "read" || kind === "write") {
    if (value === "*") return "any file";
    if (value === "$CWD") return "the folder you work in";
    if (value === "$TMP") return "the temporary folder";
    if (value === "$HOME") return "your whole home folder";
    return shown(value.replace(/^\$HOME(?=\/)/, "~").replace(/^\$CWD(?=\/)/, "."));
  }
  if (value === "*") {
    if (kind === "net") return "any public host";
    if (kind === "run") return "any program";
    return kind === "env" || kind === "tools" ? "any" : "";
  }
  if (kind === "net" && value.startsWith("*:")) return `any public host at port ${value.slice(2)}`;
  return shown(value);
}

/** With spaces in it, a value could look like several words of ours. */
function shown(value: string): string {
  const text = exact(value, VALUE_COLUMNS);
  return text.includes(" ") ? `"${text}"` : text;
}

/** One permission as a phrase: `read ~/notes`. */
export function permissionText(permission: Permission): string {
  return `${VERBS[permission.kind]} ${valueText(permission)}`.trim();
}

/** Permissions that are one entry on the screen. */
interface Group {
  kind: Kind;
  danger: string | undefined;
  reason: string | undefined;
  values: string[];
  permissions: Permission[];
}

function groupsOf(permissions: Permissions, reasons: ReadonlyMap<string, string>): Group[] {
  const groups = new Map<string, Group>();
  for (const permission of listOf(permissions)) {
    const danger = dangerOf(permission);
    const reason = reasons.get(reasonKey(permission));
    const key = JSON.stringify([permission.kind, danger, reason]);
    const group = groups.get(key) ?? { kind: permission.kind, danger, reason, values: [], permissions: [] };
    group.values.push(valueText(permission));
    group.permissions.push(permission);
    groups.set(key, group);
  }
  // What is dangerous stands first.
  return [...groups.values()].sort(
    (a, b) =>
      Number(b.danger !== undefined) - Number(a.danger !== undefined) ||
      KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind),
  );
}

/** One by one, in the order in which the question shows them. */
export function inScreenOrder(permissions: Permissions, reasons: ReadonlyMap<string, string>): Permission[] {
  return groupsOf(permissions, reasons).flatMap((group) => group.permissions);
}

function groupLines({ kind, danger, reason, values }: Group, most: number): string[] {
  const isFolded = danger === undefined && values.length > most;
  const listed = (isFolded ? values.slice(0, most) : values).filter((value) => value !== "");
  const words = VERBS[kind].split(" ");
  // A value is one word: it is never broken, so that no part of it stands alone at a line's beginning.
  words.push(...listed.map((value, index) => (index < listed.length - 1 || isFolded ? `${value},` : value)));
  if (isFolded) words.push(...`and ${values.length - most} more`.split(" "));
  if (danger !== undefined) words.push(...`(${danger})`.split(" "));
  const lines = wrap(words, danger === undefined ? "    " : "  ! ", "      ", COLUMNS);
  return reason === undefined ? lines : [...lines, `      ${quoted(reason, COLUMNS - 6)}`];
}

/**
 * The question of a load, without the choices: as little as it takes to fit one screen, but every dangerous permission. What another
 * one contains is left out: behind a hundred files, nobody sees that all files are among them.
 */
export function loadQuestionLines(question: LoadQuestion): string[] {
  const { declaration, had } = question;
  const toAsk = withoutContained(question.toAsk);
  const levels: [ReadonlyMap<string, string>, number][] = [
    [declaration.reasons, SHOWN],
    [new Map(), SHOWN],
    [new Map(), 1],
  ];
  let lines: string[] = [];
  for (const [reasons, shown] of levels) {
    lines = [
      ...headLines(question),
      ...groupsOf(toAsk, reasons).flatMap((group) => groupLines(group, shown)),
      ...hadLines(had),
      ...combinations(union(had, toAsk)).flatMap((sentence) => wrap(sentence.split(" "), "", "", COLUMNS)),
    ];
    if (lines.length + CHOICE_LINES <= LINES) return lines;
  }
  return [...lines, "That is more than fits a screen: it begins further up."];
}

function withoutContained(permissions: Permissions): Permissions {
  const list = listOf(permissions);
  const isContained = (one: Permission) =>
    list.some((other) => other !== one && includes(permissionsOf([other]), one));
  return permissionsOf(list.filter((one) => !isContained(one)));
}

function headLines({ extension, path, declaration, isChanged }: LoadQuestion): string[] {
  const how = isChanged ? "has changed and now also asks for" : "asks for";
  const lines = [`Extension ${exact(extension, 40)} ${how}:`, `  (${exact(path, COLUMNS - 4)})`];
  if (declaration.source === "inferred") {
    lines.push(
      "  It declares nothing: this is inferred from its code, and may be more or less",
      "  than what it does.",
    );
  }
  return lines;
}

function hadLines(had: Permissions): string[] {
  const list = listOf(had);
  if (list.length === 0) return [];
  // The dangerous ones by themselves, however many.
  const kinds = groupsOf(permissionsOf(list), new Map()).flatMap((group) => groupLines(group, 2));
  return ["  It may already:", ...kinds];
}
