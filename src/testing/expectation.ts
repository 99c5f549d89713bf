/** Whether what a script expects has happened: each expectation against the records of rpc mode since the step before. */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { readSmallFile } from "../base/files.ts";
import { ellipsis } from "../base/text.ts";
import type { Expectation, Subject } from "./script.ts";

export type Rec = Record<string, unknown> & { type: string };

/** A record about what the model was asked; it is ours, not one of rpc mode. */
export const REQUEST = "model_request";

/** One about what an extension has drawn. */
export const DRAWN = "drawn";

export interface Happened {
  records: readonly Rec[];
  /** The working folder. */
  cwd: string;
}

/** An expectation in one form, whatever its subject is. */
interface Wanted {
  contains?: string | string[] | undefined;
  matches?: string | undefined;
  [member: string]: unknown;
}

/** Something that an expectation may be about: its text, and members to compare. */
interface Candidate {
  text: string;
  members: Record<string, unknown>;
}

const FILE_BYTES = 8 * 1024 * 1024;
const SHOWN_CHARS = 200;
const SHOWN = 3;

/** Undefined if it is met, otherwise what was expected and what there is. */
export async function unmet(expectation: Expectation, happened: Happened): Promise<string | undefined> {
  const { not, ...positive } = expectation;
  if (not !== undefined) {
    const found = await candidatesFor(not, happened);
    const met = found.candidates.find((one) => isMet(found.wanted, one));
    return met && `did not expect ${describe(found.subject, found.wanted)}, got ${show(met)}`;
  }
  const { subject, wanted, candidates } = await candidatesFor(positive, happened);
  if (candidates.some((one) => isMet(wanted, one))) return undefined;
  const seen = candidates.slice(-SHOWN).map(show);
  const more = candidates.length > SHOWN ? [`and ${candidates.length - SHOWN} before`] : [];
  const got = seen.length === 0 ? "nothing of that kind" : [...seen, ...more].join(", ");
  return `expected ${describe(subject, wanted)}, got ${got}`;
}

async function candidatesFor(
  expectation: Omit<Expectation, "not">,
  happened: Happened,
): Promise<{ subject: Subject; wanted: Wanted; candidates: Candidate[] }> {
  const [[subject, given] = []] = Object.entries(expectation) as [Subject, unknown][];
  if (subject === undefined) throw new Error("an expectation without a subject");
  const wanted: Wanted =
    subject === "record"
      ? { members: given }
      : typeof given === "string"
        ? { contains: given }
        : (given as Wanted);
  const type = subject === "record" ? (given as { type?: unknown }).type : undefined;
  const isWanted = (record: Rec) => type === undefined || record.type === type;
  const candidates =
    subject === "file"
      ? [await fileCandidate(String(wanted.path), happened.cwd)]
      : happened.records.filter(isWanted).flatMap((record) => candidate(subject, record) ?? []);
  return { subject, wanted, candidates };
}

/** What a record is for a subject; undefined if it is another's. */
function candidate(subject: Exclude<Subject, "file">, record: Rec): Candidate | undefined {
  switch (subject) {
    case "toolResult":
    case "blocked": {
      const message = messageOf(record);
      if (message?.role !== "toolResult") return undefined;
      const { toolName: tool, isError, details } = message;
      const text = textOf(message.content);
      if (subject === "blocked" && !(isError && /^blocked by /.test(text))) return undefined;
      return { text, members: { tool, isError, details } };
    }
    case "message": {
      const message = messageOf(record);
      if (!message) return undefined;
      return { text: textOf(message.content), members: message };
    }
    case "notify":
      return shown(record, "notify", ({ message, notifyType }) => [message, { level: notifyType }]);
    case "status":
      return shown(record, "setStatus", ({ statusKey, statusText }) => [statusText, { key: statusKey }]);
    case "widget":
      return shown(record, "setWidget", ({ widgetKey, widgetLines }) => [
        Array.isArray(widgetLines) ? widgetLines.join("\n") : undefined,
        { key: widgetKey },
      ]);
    case "title":
      return shown(record, "setTitle", ({ title }) => [title, {}]);
    case "editorText":
      return shown(record, "set_editor_text", ({ text }) => [text, {}]);
    case "dialog":
      return isDialog(record) ? { text: questionOf(record), members: { method: record.method } } : undefined;
    case "entry":
      if (record.type !== "entry_appended") return undefined;
      return { text: JSON.stringify(record.entry), members: record.entry as Record<string, unknown> };
    case "output":
      return record.type === "command_output" ? { text: String(record.text), members: {} } : undefined;
    case "notice":
      return record.type === "notice" ? { text: String(record.text), members: {} } : undefined;
    case "error":
      if (record.type !== "extension_error") return undefined;
      return { text: String(record.error), members: { event: record.event } };
    case "request":
      return record.type === REQUEST ? { text: String(record.text), members: record } : undefined;
    case "drawn":
      return record.type === DRAWN ? { text: String(record.text), members: {} } : undefined;
    case "response":
      if (record.type !== "response") return undefined;
      return {
        text: record.success === false ? String(record.error) : JSON.stringify(record.data ?? null),
        members: { success: record.success },
      };
    case "record":
      return { text: JSON.stringify(record), members: { members: record } };
  }
}

/** Whether a record is a question that waits for an answer. */
export function isDialog(record: Rec): boolean {
  const { type, method } = record;
  return type === "extension_ui_request" && ["select", "confirm", "input", "editor"].includes(String(method));
}

/** The words of a dialog. */
export function questionOf({ title, message, options, placeholder, prefill }: Rec): string {
  return [title, message, ...(Array.isArray(options) ? options : []), placeholder, prefill]
    .filter((part) => typeof part === "string" && part !== "")
    .join("\n");
}

function shown(
  record: Rec,
  method: string,
  read: (record: Rec) => [text: unknown, members: Record<string, unknown>],
): Candidate | undefined {
  if (record.type !== "extension_ui_request" || record.method !== method) return undefined;
  const [text, members] = read(record);
  return { text: text === undefined || text === null ? "" : String(text), members };
}

function messageOf(record: Rec): Record<string, unknown> | undefined {
  return record.type === "message_end" ? (record.message as Record<string, unknown>) : undefined;
}

/** The texts of a message's content. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("");
}

async function fileCandidate(path: string, cwd: string): Promise<Candidate> {
  const file = join(cwd, path);
  const exists = await lstat(file).then(
    () => true,
    () => false,
  );
  const text = exists
    ? (await readSmallFile(file, FILE_BYTES).catch(() => Buffer.alloc(0))).toString("utf8")
    : "";
  return { text: exists ? text : "no such file", members: { path, exists } };
}

function isMet(wanted: Wanted, { text, members }: Candidate): boolean {
  const { contains, matches, systemPrompt, tools, ...rest } = wanted;
  const parts = (value: unknown): string[] => (value === undefined ? [] : ([value].flat() as string[]));
  if (!parts(contains).every((part) => text.includes(part))) return false;
  if (matches !== undefined && !new RegExp(matches, "u").test(text)) return false;
  if (!parts(systemPrompt).every((part) => String(members.systemPrompt).includes(part))) return false;
  if (!parts(tools).every((tool) => (members.tools as string[]).includes(tool))) return false;
  // A file that is meant to have a text has to be there.
  if ("exists" in members && wanted.exists === undefined && members.exists !== true) return false;
  return isPart(rest, members);
}

/** Whether everything in `wanted` is in `value`: members of objects, all elements of lists. */
export function isPart(wanted: unknown, value: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return Object.is(wanted, value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(value) &&
      wanted.length === value.length &&
      wanted.every((one, index) => isPart(one, value[index]))
    );
  }
  return Object.entries(wanted).every(
    ([key, one]) => one === undefined || (Object.hasOwn(value, key) && isPart(one, (value as never)[key])),
  );
}

const NOUNS: Record<Subject, string> = {
  toolResult: "a tool's result",
  blocked: "a blocked tool call",
  notify: "a notification",
  dialog: "a question",
  status: "a status",
  widget: "a widget",
  title: "a title",
  editorText: "a text for the editor",
  entry: "an entry",
  message: "a message",
  output: "an output",
  notice: "a notice",
  error: "an error of the extension",
  request: "a request to the model",
  response: "a response",
  record: "a record",
  drawn: "a drawing",
  file: "a file",
};

function describe(subject: Subject, wanted: Wanted): string {
  const { contains, matches, members, ...rest } = wanted;
  const parts = [contains ?? []].flat().map((part) => `contains ${quote(part)}`);
  if (matches !== undefined) parts.push(`matches /${matches}/u`);
  for (const [key, value] of Object.entries({ ...rest, ...(members as object) })) {
    if (value !== undefined) parts.push(`has ${key} ${quote(value)}`);
  }
  return parts.length === 0 ? NOUNS[subject] : `${NOUNS[subject]} that ${parts.join(" and ")}`;
}

function show({ text, members }: Candidate): string {
  const about = ["tool", "role", "customType", "level", "key", "method", "event", "path"]
    .filter((key) => typeof members[key] === "string")
    .map((key) => `${key} ${String(members[key])}`);
  if (typeof members.isError === "boolean") about.push(members.isError ? "failed" : "not failed");
  return `${quote(text)}${about.length > 0 ? ` (${about.join(", ")})` : ""}`;
}

function quote(value: unknown): string {
  return ellipsis(JSON.stringify(value), SHOWN_CHARS);
}
