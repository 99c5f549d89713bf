/** What a hook is told, and what its reply does (wire-notes.md, "Shell hooks"). */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { asking, Session } from "./support.ts";

describe("a tool_call hook", () => {
  test("gets the call as JSON on its standard input", async () => {
    await using session = new Session();
    const seen = `${session.folder.path}/seen`;
    await session.load({ setting: { tool_call: `cat > ${seen}` } });
    await session.decide({ command: "ls" });
    assert.deepEqual(JSON.parse(readFileSync(seen, "utf8")), {
      event: "tool_call",
      tool: "bash",
      input: { command: "ls" },
      toolCallId: "c1",
      cwd: session.folder.path,
      sessionId: "s1",
    });
  });

  test("gets all of it, however long", async () => {
    await using session = await asking(`sleep 0.1; printf '{"block":true,"reason":"%d"}' $(wc -c)`);
    const command = "x".repeat(3_000_000);
    const { length } = JSON.stringify({
      event: "tool_call",
      tool: "bash",
      input: { command },
      toolCallId: "c1",
      cwd: session.folder.path,
      sessionId: "s1",
    });
    assert.equal(await session.decide({ command }), `blocked by hook tool_call of config.yml: ${length + 1}`);
  });

  test("has the user's environment, and the session's folder as XDEV_CWD", async () => {
    await using session = new Session();
    await session.load(
      { setting: { tool_call: `printf '{"block":true,"reason":"%s %s"}' "$MINE" "$XDEV_CWD"` } },
      { env: { PATH: process.env.PATH, MINE: "my value", XDEV_CWD: "/wrong" } },
    );
    assert.equal(
      await session.decide({ command: "ls" }),
      `blocked by hook tool_call of config.yml: my value ${session.folder.path}`,
    );
  });

  test("blocks with its reason, and with none", async () => {
    await using session = await asking(`echo '{"block":true,"reason":"no rm here"}'`);
    assert.equal(
      await session.decide({ command: "rm x" }),
      "blocked by hook tool_call of config.yml: no rm here",
    );
    await using silent = await asking(`echo '{"block":true}'`);
    assert.equal(await silent.decide({ command: "rm x" }), "blocked by hook tool_call of config.yml: denied");
  });

  test("that denies ends the chain: the next one is not asked", async () => {
    await using session = new Session();
    const seen = `${session.folder.path}/seen`;
    await session.load({ setting: { tool_call: [`echo '{"block":true}'`, `touch ${seen}`] } });
    assert.equal(
      await session.decide({ command: "ls" }),
      "blocked by hook tool_call 1 of config.yml: denied",
    );
    assert.ok(!existsSync(seen));
  });

  test("replaces the arguments, which the next one is asked about", async () => {
    await using session = await asking(`echo '{"input":{"command":"ls -l"}}'`, `grep -q '"ls -l"' || exit 1`);
    assert.deepEqual(await session.decide({ command: "ls" }), { command: "ls -l" });
    await using revising = await asking(`echo '{"input":{"command":"ls -l"}}'`);
    assert.deepEqual(await revising.decide({ command: "ls" }), { command: "ls -l" });
  });

  test("that replaces them with arguments that the tool does not take denies", async () => {
    await using session = await asking(`echo '{"input":{"cmd":1}}'`);
    assert.match(
      String(await session.decide({ command: "ls" })),
      /^blocked by hook .*: its revised arguments are not valid: command: must be a string$/,
    );
  });

  test("that was asked before a revision is asked again, about what would run", async () => {
    await using session = await asking(
      `grep -q 'rm -rf' && echo '{"block":true,"reason":"rm"}' || true`,
      `echo '{"input":{"command":"rm -rf /"}}'`,
    );
    assert.equal(await session.decide({ command: "ls" }), "blocked by hook tool_call 1 of config.yml: rm");
  });
});

describe("a matcher", () => {
  async function definedBy(session: Session, matcher: string, more = {}): Promise<Session> {
    const definition = { event: "tool_call", command: `echo '{"block":true}'`, matcher, ...more };
    session.folder.file("data/hooks/policy.json", JSON.stringify(definition));
    return session.load();
  }

  test("is a regular expression on the tool's name", async () => {
    await using session = await definedBy(new Session(), "^(bash|write)$");
    assert.equal(await session.decide({ command: "ls" }), "blocked by hook policy.json: denied");
    assert.equal(await session.decide({ command: "ls" }, "write"), "blocked by hook policy.json: denied");
    assert.deepEqual(await session.decide({ command: "ls" }, "read"), { command: "ls" });
  });

  test("that is empty matches every tool", async () => {
    await using session = await definedBy(new Session(), "");
    assert.equal(await session.decide({ command: "ls" }), "blocked by hook policy.json: denied");
  });

  test("goes together with an if: both must match", async () => {
    await using session = await definedBy(new Session(), "bash", { if: "Bash(git *)" });
    assert.deepEqual(await session.decide({ command: "ls" }), { command: "ls" });
    assert.equal(await session.decide({ command: "git push" }), "blocked by hook policy.json: denied");
  });

  test("of an event without a tool looks at the compact JSON", async () => {
    await using session = new Session();
    const path = session.folder.path;
    const definition = (matcher: string, file: string) =>
      JSON.stringify({ event: "turn_end", matcher, command: `touch ${path}/${file}` });
    session.folder.file("data/hooks/a.json", definition('"stopReason":"error"', "a"));
    session.folder.file("data/hooks/b.json", definition('"stopReason":"stop"', "b"));
    await session.load();
    session.bus.emit("turn_end", { turnIndex: 0, stopReason: "stop" });
    await session.bus.close();
    assert.deepEqual([existsSync(`${path}/a`), existsSync(`${path}/b`)], [false, true]);
  });
});

describe("a tool_result hook", () => {
  test("is told the text, and replaces it; images stay, and the next one sees what it made", async () => {
    await using session = new Session();
    await session.load({
      setting: {
        tool_result: [
          `grep -q '"text":"secret","isError":false' && echo '{"text":"hidden"}'`,
          `grep -q '"text":"hidden"' && echo '{"text":"hidden twice"}'`,
        ],
      },
    });
    const patched = await session.patch("secret");
    assert.deepEqual(patched, {
      content: [{ type: "text", text: "hidden twice" }],
      details: 1,
      isError: false,
    });
  });

  test("can make the text empty", async () => {
    await using session = new Session();
    await session.load({ setting: { tool_result: `echo '{"text":""}'` } });
    assert.deepEqual((await session.patch("secret")).content, [{ type: "text", text: "" }]);
  });
});

describe("a context hook", () => {
  test("replaces the system prompt, after before_agent_start has run", async () => {
    await using session = new Session();
    const order = `${session.folder.path}/order`;
    await session.load({
      setting: {
        before_agent_start: `echo before >> ${order}; echo '{"text":"not this"}'`,
        context: [
          `echo context >> ${order}; grep -q '"systemPrompt":"be brief"' && echo '{"text":"be long"}'`,
          `grep -q '"systemPrompt":"be long"' && echo '{"text":"be good"}'`,
        ],
      },
    });
    assert.equal(await session.bus.prepare("go", "be brief"), "be good");
    assert.equal(readFileSync(order, "utf8"), "before\ncontext\n");
  });
});
