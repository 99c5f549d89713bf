/** What extensions ask the user of a client, and what they get if there is no answer. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RpcUi } from "../../../src/modes/rpc/ui.ts";
import { Folder } from "../../support/folder.ts";
import { type Rec, startRpc } from "../../support/rpc.ts";

function ui(): { ui: RpcUi; sent: Rec[]; last: () => Rec } {
  const sent: Rec[] = [];
  return { ui: new RpcUi((record) => void sent.push(record as Rec)), sent, last: () => sent.at(-1)! };
}

describe("a dialog", () => {
  test("goes out as the family has it, says who asks, and gives the client's answer", async () => {
    const { ui: user, last } = ui();
    const chosen = user.select("policy", "Allow?", ["Allow", "Block"]);
    const { id, ...request } = last();
    assert.deepEqual(request, {
      type: "extension_ui_request",
      method: "select",
      title: "Allow?",
      options: ["Allow", "Block"],
      extension: "policy",
    });
    user.answer({ id: id as string, value: "Block" });
    assert.equal(await chosen, "Block");

    const confirmed = user.confirm("policy", "Clear?", "All is lost.");
    assert.deepEqual([last().method, last().message], ["confirm", "All is lost."]);
    user.answer({ id: last().id as string, confirmed: true });
    assert.equal(await confirmed, true);

    const typed = user.input("policy", "Name", "a name");
    assert.deepEqual([last().method, last().placeholder], ["input", "a name"]);
    user.answer({ id: last().id as string, value: "" });
    assert.equal(await typed, "");

    const edited = user.editor("policy", "Text", "one\ntwo");
    assert.deepEqual([last().method, last().prefill], ["editor", "one\ntwo"]);
    user.answer({ id: last().id as string, value: "three" });
    assert.equal(await edited, "three");
  });

  test("that is cancelled, late, aborted or left by the client gives its default", async () => {
    const { ui: user, sent, last } = ui();
    const cancelled = [
      user.select("e", "t", ["a"]),
      user.confirm("e", "t", ""),
      user.input("e", "t"),
      user.editor("e", "t"),
    ];
    for (const { id } of sent) user.answer({ id: id as string, cancelled: true });
    assert.deepEqual(await Promise.all<unknown>(cancelled), [undefined, false, undefined, undefined]);

    const late = user.input("e", "t", undefined, { timeoutMs: 1 });
    assert.equal(last().timeout, 1);
    const { id } = last();
    assert.equal(await late, undefined);
    assert.equal(user.answer({ id: id as string, value: "too late" }), undefined);

    const abort = new AbortController();
    const aborted = user.confirm("e", "t", "", { signal: abort.signal });
    abort.abort();
    assert.equal(await aborted, false);
    const count = sent.length;
    assert.equal(await user.confirm("e", "t", "", { signal: abort.signal }), false);
    assert.equal(sent.length, count, "nobody is asked what nobody waits for");

    const left = user.select("e", "t", ["a"]);
    user.close();
    assert.equal(await left, undefined);
    assert.equal(await user.confirm("e", "t", ""), false);
    user.notify("e", "hello", "info");
    assert.equal(sent.length, count + 1);
  });

  test("stands until the answer is one", async () => {
    const { ui: user, last } = ui();
    const chosen = user.select("e", "t", ["a"]);
    const id = last().id as string;
    assert.match(user.answer({ id, value: "b" })!, /none of the options/);
    assert.match(user.answer({ id, confirmed: true })!, /none of the options/);
    assert.equal(user.answer({ id, value: "a" }), undefined);
    assert.equal(await chosen, "a");
    const confirmed = user.confirm("e", "t", "");
    assert.match(user.answer({ id: last().id as string, value: "yes" })!, /has no confirmed/);
    user.answer({ id: last().id as string, confirmed: false });
    assert.equal(await confirmed, false);
  });

  test("leaves nothing to answer behind however many are asked", async () => {
    const { ui: user, sent } = ui();
    const all = Array.from({ length: 1200 }, () => user.confirm("e", "t", ""));
    assert.equal(sent.length, 1000);
    user.close();
    assert.ok((await Promise.all(all)).every((answer) => !answer));
  });
});

test("what is only shown goes out and is not waited for", () => {
  const { ui: user, sent } = ui();
  user.notify("e", "careful", "warning");
  user.notify("e", "hm", "odd");
  user.setStatus("e", "key", "busy");
  user.setStatus("e", "key", undefined);
  user.setWidget("e", "w", ["1", "2"], "belowEditor");
  user.setTitle("e", "a title");
  user.setEditorText("e", "text");
  const ids = new Set(sent.map(({ id }) => id));
  assert.equal(ids.size, sent.length);
  assert.deepEqual(
    sent.map(({ id: _, type: __, extension: ___, ...rest }) => rest as unknown),
    [
      { method: "notify", message: "careful", notifyType: "warning" },
      { method: "notify", message: "hm", notifyType: "info" },
      { method: "setStatus", statusKey: "key", statusText: "busy" },
      { method: "setStatus", statusKey: "key", statusText: undefined },
      { method: "setWidget", widgetKey: "w", widgetLines: ["1", "2"], widgetPlacement: "belowEditor" },
      { method: "setTitle", title: "a title" },
      { method: "set_editor_text", text: "text" },
    ],
  );
});

test("a question of xdev itself is an input whose title is what a terminal would show", async () => {
  const { ui: user, last } = ui();
  const dialog = user.lineDialog();
  dialog.write("policy wants to read a.txt\n");
  dialog.write("[y]es, [n]o? ");
  const line = dialog.readLine(new AbortController().signal);
  assert.deepEqual(
    [last().method, last().title, "extension" in last()],
    ["input", "policy wants to read a.txt\n[y]es, [n]o?", false],
  );
  user.answer({ id: last().id as string, value: "y" });
  assert.equal(await line, "y");
});

describe("over the wire", () => {
  test("an extension may ask while the session begins; commands wait for it", async () => {
    using folder = new Folder();
    let answer: boolean | undefined;
    await using rpc = await startRpc(folder, [], {
      start: async ({ ui: user }) => {
        answer = await user.confirm("policy", "Begin?", "");
      },
    });
    const state = rpc.send({ type: "get_state" });
    const { id } = await rpc.records.find(({ type }) => type === "extension_ui_request");
    assert.equal(rpc.records.all.filter(({ type }) => type === "response").length, 0);
    rpc.write(JSON.stringify({ type: "extension_ui_response", id, confirmed: true }));
    assert.equal((await state).success, true);
    assert.equal(answer, true);
    assert.equal(rpc.records.all.filter(({ type }) => type === "response").length, 1, "an answer gets none");
  });

  test("an answer that is none gets an error, one that is late gets nothing", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, []);
    const chosen = rpc.rpc.ui.select("policy", "Which?", ["a"]);
    const { id } = await rpc.records.find(({ type }) => type === "extension_ui_request");
    rpc.write(JSON.stringify({ type: "extension_ui_response", id, value: "z" }));
    const refused = await rpc.records.find(({ success }) => success === false);
    assert.deepEqual([refused.command, refused.id], ["extension_ui_response", id]);
    rpc.write(JSON.stringify({ type: "extension_ui_response", id, value: "a" }));
    assert.equal(await chosen, "a");
    rpc.write(JSON.stringify({ type: "extension_ui_response", id, value: "a" }));
    await rpc.send({ type: "get_state" });
    assert.equal(rpc.records.all.filter(({ success }) => success === false).length, 1);
  });

  test("a client that goes away answers every dialog with its default", async () => {
    using folder = new Folder();
    const rpc = await startRpc(folder, []);
    const open = rpc.rpc.ui.confirm("policy", "Really?", "");
    rpc.input.end();
    assert.equal(await open, false);
    assert.equal(await rpc.served, 0);
  });
});
