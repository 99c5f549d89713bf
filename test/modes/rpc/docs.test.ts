/** `xdev docs rpc` says what is so. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { COMMANDS, LINE_LIMIT } from "../../../src/modes/rpc/commands.ts";
import { RpcUi } from "../../../src/modes/rpc/ui.ts";
import { fits } from "../../support/fits.ts";
import { Folder } from "../../support/folder.ts";
import { type Rec, type RpcHarness, startRpc } from "../../support/rpc.ts";

const page = readFileSync(new URL("../../../src/docs/rpc.md", import.meta.url), "utf8");
const fences = (info: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${info}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map((match) => match[1]!);

/** Says what the page says, and waits for what it shows, in its order. */
async function play(rpc: RpcHarness, conversation: string): Promise<void> {
  let seen = 0;
  for (const line of conversation.trimEnd().split("\n")) {
    const text = line.slice(2);
    if (line.startsWith("→ ")) {
      rpc.write(text);
      continue;
    }
    const shown = JSON.parse(text);
    const from = seen;
    const found = await rpc.records.find(
      (record) => rpc.records.all.indexOf(record) >= from && fits(shown, record),
    );
    seen = rpc.records.all.indexOf(found) + 1;
  }
}

describe("the page on rpc mode", () => {
  fences("text rpc").forEach((conversation, index) => {
    test(`shows a conversation that goes like that (${index + 1})`, async () => {
      using folder = new Folder();
      await using rpc = await startRpc(folder, [{ text: "Hello yourself." }], {
        env: { PATH: process.env.PATH ?? "" },
      });
      await play(rpc, conversation);
    });
  });

  test("shows dialogs that go like that", async () => {
    const lines = fences("text dialog")[0]!.trimEnd().split("\n");
    const sent: Rec[] = [];
    const ui = new RpcUi((record) => void sent.push(record as Rec));
    const answers = [
      () => ui.confirm("policy", "Push?", "To origin.", { timeoutMs: 30_000 }),
      () => ui.select("policy", "Which?", ["a", "b"]),
      () => ui.input("policy", "Name", "a name"),
      () => ui.editor("policy", "Text", "one"),
    ];
    const given: unknown[] = [];
    for (const [index, ask] of answers.entries()) {
      const [request, response] = lines
        .slice(2 * index, 2 * index + 2)
        .map((line) => JSON.parse(line.slice(2)));
      const asked = ask();
      const { id } = sent.at(-1)!;
      assert.deepEqual(sent.at(-1), { ...request, id });
      assert.equal(ui.answer({ ...response, id }), undefined);
      given.push(await asked);
    }
    assert.deepEqual(given, [true, "b", undefined, "two"]);
  });

  test("names every command with its members, and no other", () => {
    const [commands = ""] = page.split("## Events");
    const rows = [...commands.matchAll(/^\| (`[a-z_`, ]+) \| ([^|]*)\|/gm)];
    const named = new Map(
      rows.flatMap(([, names = "", members = ""]) =>
        [...names.matchAll(/`([^`]+)`/g)].map((match) => [match[1]!, members] as const),
      ),
    );
    assert.deepEqual([...named.keys()].sort(), Object.keys(COMMANDS).sort());
    for (const [command, members] of Object.entries(COMMANDS)) {
      const optional = (schema: { type: string }) => (schema.type === "nullish" ? "?" : "");
      const wanted = Object.entries(members).map(([name, schema]) => `\`${name}\`${optional(schema)}`);
      assert.equal(named.get(command)?.trim(), wanted.join(", "), command);
    }
    assert.ok(page.includes(`A line may have ${LINE_LIMIT / 1024 / 1024} MB.`));
  });

  test("names every event", () => {
    const types = readFileSync(new URL("../../../src/agent/agent-session-types.ts", import.meta.url), "utf8");
    const union = /export type SessionEvent =([\s\S]*?);\n\n/.exec(types)?.[1] ?? "";
    const names = [...union.matchAll(/type: "(\w+)"/g)].map(([, name]) => name!);
    // Those of the agent's own, which the union takes over.
    const taken = ["agent_start", "turn_start", "turn_end", "message_start", "message_update", "message_end"];
    const tools = ["tool_execution_start", "tool_execution_update", "tool_execution_end"];
    assert.ok(names.length > 20);
    for (const name of [...names, ...taken, ...tools]) assert.ok(page.includes(`\`${name}\``), name);
  });

  test("names every member of the state", async () => {
    using folder = new Folder();
    await using rpc = await startRpc(folder, []);
    for (const name of Object.keys((await rpc.send({ type: "get_state" })).data as object)) {
      assert.ok(page.includes(`\`${name}\``), name);
    }
  });

  test("shows a client that works", {
    skip: spawnSync("python3", ["--version"]).status === 0 ? false : "needs python3",
  }, () => {
    using folder = new Folder();
    const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
    const steps = folder.file("steps.json", JSON.stringify([{ text: "It works." }]));
    const words = [at("node_modules/.bin/bun"), at("test/fixtures/rpc-agent.ts"), folder.path, steps];
    const program = folder.program(
      "bin/xdev",
      `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")}\n`,
    );
    const client = folder.file("client.py", fences("python rpc")[0]!);
    const { status, stdout, stderr } = spawnSync("python3", [client, "Does it?"], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}` },
    });
    assert.deepEqual([status, stdout], [0, "It works.\n"], stderr);
  });
});
