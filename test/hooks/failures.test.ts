/** A hook that fails denies the call and is named (wire-notes.md, "Shell hooks"): a policy does not vanish. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gone } from "../support/processes.ts";
import { asking, Session } from "./support.ts";

const NAME = "tool_call of config.yml";

describe("a tool_call hook denies, and is named, when", () => {
  const failures: [string, string, RegExp][] = [
    ["it exits with status 1", "exit 1", /exited with status 1$/],
    ["it exits with status 2, and says why", "echo not on Fridays >&2; exit 2", /status 2: not on Fridays$/],
    ["a command is not found", "no-such-command-anywhere", /status 127 \(command or interpreter not found\)/],
    ["its script is missing", "sh /nonexistent/policy.sh", /exited with status (?:2|127)/],
    ["its script is not executable", "/etc/passwd", /status 126 \(not executable\)/],
    ["the shell is killed by a signal", "kill -9 $$", /was ended by signal SIGKILL/],
    ["what it runs is killed by a signal", "sh -c 'kill -9 $$'; exit $?", /status 137 \(SIGKILL\)/],
    ["it is a syntax error", "if then", /exited with status 2/],
    ["it prints half a JSON object", `printf '{"block": fal'`, /neither empty nor a JSON object/],
    ["it prints a text", "echo ok", /neither empty nor a JSON object/],
    ["it prints two objects", "echo '{} {}'", /neither empty nor a JSON object/],
    ["it prints JSON that is no object", "echo true", /no object/],
    ["it prints an array", "echo '[]'", /no object/],
    ["it prints null", "echo null", /no object/],
    ["it prints what is not UTF-8", "printf '\\377'", /not UTF-8/],
    ["its block is no boolean", `echo '{"block":"false"}'`, /"block" .* wrong type/],
    ["its input is no object", `echo '{"input":"ls"}'`, /"input" .* wrong type/],
    ["it prints more than 1 MB", "yes", /more than 1 MB/],
    ["it allows with a failure", "echo '{}'; exit 3", /status 3/],
  ];
  for (const [when, command, reason] of failures) {
    test(when, async () => {
      await using session = await asking(command);
      const verdict = await session.decide({ command: "ls" });
      assert.equal(typeof verdict, "string", JSON.stringify(verdict));
      assert.ok(String(verdict).startsWith(`blocked by hook ${NAME}: `), String(verdict));
      assert.match(String(verdict), reason);
    });
  }

  test("the interpreter of its script is missing", async () => {
    await using session = new Session();
    session.folder.program("data/hooks/tool_call.sh", "#!/nonexistent/interpreter\n");
    await session.load();
    assert.match(
      String(await session.decide({ command: "ls" })),
      /^blocked by hook tool_call\.sh: exited with status 12[67]/,
    );
  });

  test("the folder that it starts in is gone", async () => {
    await using session = new Session();
    await session.load({ options: [{ event: "tool_call", command: "true" }], startFolder: "/nonexistent" });
    assert.match(
      String(await session.decide({ command: "ls" })),
      /^blocked by hook --hook tool_call: could not be started/,
    );
  });

  test("it gives no answer within its limit, and nothing of it is left", async () => {
    await using session = new Session();
    const pid = `${session.folder.path}/pid`;
    await session.load({ setting: { tool_call: `sleep 60 & echo $! > ${pid}; wait` } }, { timeoutMs: 300 });
    assert.equal(
      await session.decide({ command: "ls" }),
      `blocked by hook ${NAME}: gave no answer within 300 ms`,
    );
    await gone(Number(readFileSync(pid, "utf8")));
  });

  test("its reply comes after the limit, even if it ignores the signal to end", async () => {
    await using session = new Session();
    await session.load(
      { setting: { tool_call: "trap '' TERM; sleep 0.4; echo '{}'; sleep 60" } },
      { timeoutMs: 200 },
    );
    assert.match(String(await session.decide({ command: "ls" })), /gave no answer within 200 ms/);
  });

  test("it closes its output and goes on", async () => {
    await using session = new Session();
    await session.load({ setting: { tool_call: "exec >&- 2>&-; sleep 60" } }, { timeoutMs: 200 });
    assert.match(String(await session.decide({ command: "ls" })), /gave no answer within 200 ms/);
  });

  test("the user aborts: nobody has allowed it", async () => {
    await using session = await asking("sleep 60");
    const abort = new AbortController();
    const verdict = session.decide({ command: "ls" }, "bash", abort.signal);
    abort.abort();
    assert.match(String(await verdict), /^blocked by hook .*: aborted$/);
  });

  test("its reason for a denial cannot write to the terminal", async () => {
    await using session = await asking(`printf '{"block":true,"reason":"a\\\\u001b[2Jb"}'`);
    assert.equal(await session.decide({ command: "ls" }), `blocked by hook ${NAME}: ab`);
  });
});

describe("a tool_call hook lets a call through when", () => {
  for (const [when, command] of [
    ["it prints nothing", "true"],
    ["it prints white space", "echo; echo"],
    ["it prints an empty object", "echo '{}'"],
    ["it does not block", `echo '{"block":false,"reason":"fine"}'`],
    ["its members are null", `echo '{"block":null,"input":null}'`],
    ["it does not read what it is told", "exec <&-"],
    ["it writes to standard error", "echo checking >&2"],
    ["it leaves something in the background, which is ended", "sleep 60 &"],
  ] as const) {
    test(when, async () => {
      await using session = await asking(command);
      assert.deepEqual(await session.decide({ command: "ls" }), { command: "ls" });
    });
  }

  test("it is told more than a pipe holds and reads none of it", async () => {
    await using session = await asking("true");
    const command = "x".repeat(1_000_000);
    assert.deepEqual(await session.decide({ command }), { command });
  });
});

test("five sibling calls with a slow hook are all decided, none by a time-out: each clock starts with its hook", async () => {
  await using session = new Session();
  await session.load(
    { setting: { tool_call: `sleep 0.5; echo '{"block":true,"reason":"looked"}'` } },
    { timeoutMs: 2000 },
  );
  const verdicts: unknown[] = [];
  for (let call = 0; call < 5; call++) verdicts.push(await session.decide({ command: `${call}` }));
  assert.deepEqual(verdicts, Array(5).fill(`blocked by hook ${NAME}: looked`));
});

test("a failure on another event is only logged, and changes nothing", async () => {
  await using session = new Session();
  await session.load({ setting: { tool_result: "exit 1", context: "echo half {" } });
  assert.deepEqual((await session.patch("result")).content, [{ type: "text", text: "result" }]);
  assert.equal(await session.bus.prepare("go", "be brief"), "be brief");
  assert.deepEqual(await session.decide({ command: "ls" }), { command: "ls" });
});
