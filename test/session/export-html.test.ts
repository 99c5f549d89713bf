/** A session as a file to pass on: it asks nobody for anything, and nothing in it becomes a part of the page. */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { exportHtml, exportHtmlFile } from "../../src/session/export-html.ts";
import { SessionStore } from "../../src/session/index.ts";
import type { NewEntry } from "../../src/session/types.ts";
import { Folder } from "../support/folder.ts";
import { assistant, toolResult, user } from "./support.ts";

const page = (store: SessionStore) => [...exportHtml(store)].join("");
const HOSTILE = `</div></details><script>alert(1)</script><img src="https://e.example/x" onerror='x'>&lt;\u001b]8;;x\u0007`;

describe("a session as HTML", () => {
  test("shows the branch: what was said, called, returned, summarised and marked", () => {
    using store = SessionStore.inMemory({ cwd: "/work/demo" });
    const first = store.append(user("the question"));
    store.append(assistant("the answer", "call-1"));
    store.append(toolResult("call-1", "the output"));
    store.append({ type: "custom_message", customType: "note", content: "the note", display: true });
    store.append({ type: "custom_message", customType: "note", content: "unseen", display: false });
    store.append({ type: "compaction", summary: "the summary", firstKeptEntryId: first, tokensBefore: 1 });
    store.append({ type: "model_change", provider: "p", modelId: "the-model" });
    store.setLabel(first, "the label");
    store.setName("The name");
    const html = page(store);
    for (const words of ["question", "answer", "output", "note", "summary", "label"]) {
      assert.ok(html.includes(`the ${words}`), words);
    }
    assert.match(html, /<title>The name<\/title>/);
    assert.match(html, /Call: bash/);
    assert.match(html, /the-model/);
    assert.doesNotMatch(html, /unseen/);
    store.branch(first);
    assert.match(page(store), /8 entries of other branches are not shown/);
  });

  test("has no script, no address and no tag of what was said in it, whoever said it", () => {
    using store = SessionStore.inMemory({ cwd: HOSTILE });
    const answer = assistant(HOSTILE, "call-1");
    assert.ok(answer.type === "message" && answer.message.role === "assistant");
    answer.message.model = HOSTILE;
    answer.message.errorMessage = HOSTILE;
    answer.message.content.push(
      { type: "thinking", thinking: HOSTILE },
      { type: "toolCall", id: "x", name: HOSTILE, arguments: { [HOSTILE]: HOSTILE } },
    );
    const image = (mimeType: string, data: string): NewEntry => ({
      type: "message",
      message: { role: "user", content: [{ type: "image", mimeType, data }], timestamp: 1 },
    });
    const entries: NewEntry[] = [
      user(HOSTILE),
      answer,
      toolResult("call-1", HOSTILE),
      image("image/svg+xml", "PHN2Zz4="),
      image("image/png", `AAAA" onload="x`),
      image(`image/png" x="`, "AAAA"),
      { type: "custom_message", customType: HOSTILE, content: HOSTILE, display: true },
      { type: "branch_summary", fromId: "x", summary: HOSTILE },
      { type: "model_change", provider: HOSTILE, modelId: HOSTILE },
      { type: "thinking_level_change", thinkingLevel: HOSTILE },
    ];
    for (const entry of entries) store.append(entry);
    store.setName(HOSTILE);
    store.setLabel(store.leafId!, HOSTILE);
    const html = page(store);
    const tags = new Set(html.match(/<\/?[a-z!][a-z0-9]*/gi)?.map((tag) => tag.replace(/^<\/?/, "")));
    const ours =
      "!doctype html head meta title style body header main h1 h2 p time section div details summary";
    assert.deepEqual([...tags].sort(), ours.split(" ").sort());
    assert.doesNotMatch(html, /\u001b/);
    const inTags = html.match(/<[a-z][^>]*>/gi)!.join("");
    assert.equal(inTags.match(/\b(?:src|href|on\w+)\s*=/g), null);
  });

  test("keeps its pictures in itself", () => {
    using store = SessionStore.inMemory({ cwd: "/" });
    const content = [{ type: "image" as const, mimeType: "image/png", data: "iVBORw0KGgo=" }];
    store.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
    assert.match(page(store), /<img alt="" src="data:image\/png;base64,iVBORw0KGgo=">/);
    assert.match(page(store), /default-src 'none'; style-src 'unsafe-inline'; img-src data:/);
    assert.match(page(store), /name="viewport" content="width=device-width/);
  });

  test("is a file for its user alone", { skip: process.platform === "win32" }, async () => {
    using folder = new Folder();
    using store = SessionStore.inMemory({ cwd: "/" });
    store.append(user("hello"));
    const path = join(folder.path, "out.html");
    await exportHtmlFile(store, path);
    assert.equal(readFileSync(path, "utf8"), page(store));
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
});
