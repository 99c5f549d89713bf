/** `xdev sessions`: which there are, what was said in one, a page of it, and its end. */

import { stat } from "node:fs/promises";
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { setVerbose } from "../base/log.ts";
import { print, printLong } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { ellipsis, oneLine, stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import {
  deleteSession,
  findSession,
  listSessions,
  type SessionEntry,
  SessionStore,
  type SessionSummary,
} from "../session/index.ts";
import type { SessionsInvocation } from "./command-args.ts";
import { EXIT } from "./process-guard.ts";

/** Gives the exit status. Throws `XdevError`: `no-session`, `ambiguous-session`, `session-in-use`, `not-a-session`. */
export async function sessions(invocation: SessionsInvocation, interrupt: AbortSignal): Promise<number> {
  const { options, json, sessionDir: given } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const cwd = resolvePath(options.cwd ?? ".", startFolder());
  const sessionDir = given === undefined ? {} : { sessionDir: resolvePath(given, startFolder()) };
  const signal = { signal: interrupt };
  if (invocation.command === "sessions-list") {
    const here = invocation.all ? {} : { cwd };
    const list = await listSessions(dataDir, { ...here, ...sessionDir, ...signal });
    const listed = list.map((one) => ({ ...one, modified: Math.round(one.modified) }));
    if (json) printLong("stdout", `${JSON.stringify(listed, null, 2)}\n`);
    else print("stdout", page(list, invocation.all));
    return EXIT.done;
  }
  const named = resolvePath(invocation.session, startFolder());
  const isFile = (await stat(named).catch(() => undefined))?.isFile() === true;
  const file = isFile ? named : await findSession(dataDir, invocation.session, { cwd, ...sessionDir });
  if (invocation.command === "sessions-delete") {
    await deleteSession(file, { dataDir });
    print("stdout", json ? `${JSON.stringify({ deleted: file })}\n` : `${stripControls(file)} is deleted\n`);
    return EXIT.done;
  }
  using store = await SessionStore.open(file, { dataDir, access: "read", ...signal });
  if (invocation.command === "sessions-export") {
    const { exportHtmlFile } = await import("../session/export-html.ts");
    const html = resolvePath(invocation.html, startFolder());
    await exportHtmlFile(store, html).catch((error: unknown) => {
      throw new XdevError("cannot-write", `cannot write ${html}: ${errorText(error)}`, {
        hint: "name a file in a folder that is there",
      });
    });
    print("stdout", json ? `${JSON.stringify({ html })}\n` : `${stripControls(html)}\n`);
    return EXIT.done;
  }
  for (const { message } of store.problems) print("stderr", `xdev: ${stripControls(message)}\n`);
  if (json) return showJson(store);
  const { id, header, name } = store;
  const title = [name, id, header.timestamp, header.cwd].filter(Boolean).join(" · ");
  printLong("stdout", `${stripControls(title)}\n`);
  for (const entryId of store.getBranchIds()) {
    const entry = store.getEntry(entryId);
    const text = entry && entryText(entry);
    if (text) printLong("stdout", `\n${stripControls(text).trimEnd()}\n`);
  }
  return EXIT.done;
}

/** The header and the entries of the branch that goes on, one JSON object a line. */
function showJson(store: SessionStore): number {
  printLong("stdout", `${JSON.stringify(store.header)}\n`);
  for (const id of store.getBranchIds()) printLong("stdout", `${JSON.stringify(store.getEntry(id))}\n`);
  return EXIT.done;
}

function page(list: readonly SessionSummary[], all: boolean): string {
  if (list.length === 0)
    return all ? "there are no sessions\n" : "there are no sessions of this folder; --all lists all\n";
  const rows = list.map(({ id, name, firstMessage, modified, cwd }) => {
    const when = new Date(modified).toISOString().slice(0, 16).replace("T", " ");
    const what = ellipsis(oneLine(name ?? firstMessage ?? ""), 60);
    return `${oneLine(id)}  ${when}  ${what}${all ? `  ${oneLine(cwd)}` : ""}`.trimEnd();
  });
  return `${rows.join("\n")}\n`;
}

/** What a person reads of an entry; undefined for what nobody said. */
function entryText(entry: SessionEntry): string | undefined {
  switch (entry.type) {
    case "message": {
      const { role, content, toolName, command, code, output, stopReason, errorMessage } =
        entry.message as unknown as Loose;
      if (role === "user") return `> ${plain(content)}`;
      if (role === "assistant") {
        const text = plain(content);
        const why =
          stopReason === "error"
            ? `! ${oneLine(String(errorMessage ?? "the model gave an error"))}`
            : "! cut off";
        return stopReason === "error" || stopReason === "aborted" ? `${text}\n${why}`.trimStart() : text;
      }
      if (role === "toolResult") return `  ${String(toolName)}: ${ellipsis(oneLine(plain(content)), 200)}`;
      if (role === "bashExecution" || role === "pythonExecution") {
        return `$ ${String(command ?? code)}\n${String(output ?? "")}`;
      }
      return undefined;
    }
    case "custom_message":
      return entry.display ? `[${entry.customType}] ${plain(entry.content)}` : undefined;
    case "compaction":
    case "branch_summary":
      return `[summary] ${entry.summary}`;
    default:
      return undefined;
  }
}

interface Loose {
  role: string;
  content?: unknown;
  [member: string]: unknown;
}

function plain(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((block: Record<string, unknown>) => {
      if (block.type === "text") return [String(block.text ?? "")];
      if (block.type === "image") return ["(an image)"];
      if (block.type !== "toolCall") return [];
      return [`· ${String(block.name)} ${ellipsis(JSON.stringify(block.arguments) ?? "", 160)}`];
    })
    .join("\n");
}
