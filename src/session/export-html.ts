/**
 * A session as one HTML file to pass on: no script, nothing from the network, all text escaped, readable on a phone. Secrets that
 * were said in it are in it.
 */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { stripControls } from "../base/text.ts";
import { PAGE_STYLE } from "./export-style.ts";
import type { SessionStore } from "./store.ts";
import type { SessionEntry } from "./types.ts";

export interface ExportOptions {
  /** The end of the branch that is shown; the leaf without it. */
  leafId?: string | null;
}

/** Writes the file (0600); an old one of that name is replaced. Throws what the system says, and `XdevError` `no-entry`. */
export async function exportHtmlFile(
  store: SessionStore,
  path: string,
  options?: ExportOptions,
): Promise<void> {
  await pipeline(Readable.from(exportHtml(store, options)), createWriteStream(path, { mode: 0o600 }));
}

/** The file in pieces, an entry each: a session is longer than memory should be. */
export function* exportHtml(store: SessionStore, options: ExportOptions = {}): Generator<string> {
  const ids = store.getBranchIds(options.leafId === undefined ? store.leafId : options.leafId);
  const title = store.name ?? `Session ${store.id}`;
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
<p>${escaped([store.header.timestamp, store.cwd, store.id].filter(Boolean).join(" · "))}</p>
${note(store, ids.length)}</header>
<main>
`;
  for (const id of ids) {
    const entry = store.getEntry(id);
    if (entry) yield entryHtml(entry, store.getLabel(id));
  }
  yield "</main>\n</body>\n</html>\n";
}

function note(store: SessionStore, shown: number): string {
  const others = store.entryCount - shown;
  return others > 0 ? `<p>${others} entries of other branches are not shown.</p>\n` : "";
}

function entryHtml(entry: SessionEntry, label: string | undefined): string {
  const mark = label === undefined ? "" : `<p class="mark">★ ${escaped(label)}</p>\n`;
  return mark + bodyOf(entry);
}

function bodyOf(entry: SessionEntry): string {
  switch (entry.type) {
    case "message":
      return messageHtml(entry.message as unknown as Loose, entry.timestamp);
    case "custom_message":
      return entry.display
        ? box("custom", entry.customType, contentHtml(entry.content), entry.timestamp)
        : "";
    case "compaction":
      return box("summary", "Compaction", text(entry.summary), entry.timestamp);
    case "branch_summary":
      return box("summary", "Another branch", text(entry.summary), entry.timestamp);
    case "model_change":
      return line(`Model: ${entry.provider}/${entry.modelId}`);
    case "thinking_level_change":
      return line(`Thinking: ${entry.thinkingLevel}`);
    case "reset_boundary":
      return line("From here on the model knows nothing of the above");
    case "session_info":
      return entry.name ? line(`Name: ${entry.name}`) : "";
    default:
      return "";
  }
}

/** A message as it was read: only what the session's schema has checked is relied on. */
interface Loose {
  role: string;
  content?: unknown;
  [member: string]: unknown;
}

function messageHtml(message: Loose, time: string): string {
  const { role, content } = message;
  switch (role) {
    case "user":
      return box("user", "User", contentHtml(content), time);
    case "assistant": {
      const error = typeof message.errorMessage === "string" ? text(message.errorMessage, "error") : "";
      return box("assistant", String(message.model ?? "Assistant"), contentHtml(content) + error, time);
    }
    case "toolResult": {
      const head = `${String(message.toolName)}${message.isError === true ? ", failed" : ""}`;
      return box("tool", "", folded(`Result: ${head}`, contentHtml(content)), time);
    }
    case "bashExecution":
    case "pythonExecution": {
      const input = String(message.command ?? message.code ?? "");
      return box("tool", "", text(`$ ${input}`) + folded("Output", text(String(message.output ?? ""))), time);
    }
    case "custom":
      if (message.display === false) return "";
      return box("custom", String(message.customType ?? ""), contentHtml(content), time);
    case "system":
      return box("tool", "", folded("Instructions", contentHtml(content)), time);
    case "aside":
      return box("custom", String(message.extension ?? ""), text(String(message.text ?? "")), time);
    case "compactionSummary":
    case "branchSummary":
      return box("summary", "Summary", text(String(message.summary ?? "")), time);
    default:
      return "";
  }
}

function contentHtml(content: unknown): string {
  if (typeof content === "string") return text(content);
  if (!Array.isArray(content)) return "";
  return content.map((block: Record<string, unknown>) => blockHtml(block)).join("");
}

function blockHtml(block: Record<string, unknown>): string {
  switch (block.type) {
    case "text":
      return text(String(block.text ?? ""));
    case "thinking":
      return block.thinking ? folded("Thinking", text(String(block.thinking))) : "";
    case "toolCall": {
      const input = JSON.stringify(block.arguments, null, 2) ?? "";
      return folded(`Call: ${String(block.name ?? "")}`, text(input));
    }
    case "image":
      return imageHtml(String(block.mimeType), String(block.data));
    default:
      return "";
  }
}

/** Pixels only: an SVG is a document of its own. */
function imageHtml(mimeType: string, data: string): string {
  if (!/^image\/(?:png|jpeg|gif|webp)$/.test(mimeType) || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    return text(`[${mimeType}]`);
  }
  return `<img alt="" src="data:${mimeType};base64,${data}">\n`;
}

function box(kind: string, head: string, body: string, time: string): string {
  const title = head === "" ? "" : `<h2>${escaped(head)} <time>${escaped(time)}</time></h2>\n`;
  return `<section class="${kind}">\n${title}${body}</section>\n`;
}

function folded(summary: string, body: string): string {
  return `<details><summary>${escaped(summary)}</summary>\n${body}</details>\n`;
}

function line(what: string): string {
  return `<p class="line">${escaped(what)}</p>\n`;
}

function text(value: string, kind = "text"): string {
  return value === "" ? "" : `<div class="${kind}">${escaped(value)}</div>\n`;
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(value: string): string {
  return stripControls(value).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
