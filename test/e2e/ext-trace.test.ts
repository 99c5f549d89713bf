/** `xdev ext trace` and `xdev ext replay` of the compiled program. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { gone } from "../support/processes.ts";
import { EXAMPLES, type Outcome, start, xdev } from "../support/xdev.ts";

const DENY_RM = `${EXAMPLES}deny-rm.py`;
const QUICK_START = `${EXAMPLES}quick-start.ts`;

interface Line {
  time: number;
  direction: "host→ext" | "ext→host";
  frame?: { type: string; event?: string; id?: string; [member: string]: unknown };
  problem?: string;
  log?: string;
  close?: { reason: string };
}

/** Every line of standard output is one entry. */
function trace({ stdout }: Outcome): Line[] {
  assert.ok(stdout.endsWith("\n"));
  return stdout
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line));
}

function passed(lines: readonly Line[]): string[] {
  return lines.map(({ direction, frame, ...rest }) =>
    frame
      ? `${direction === "host→ext" ? ">" : "<"} ${frame.event ?? frame.type}`
      : (Object.keys(rest).at(-1) ?? ""),
  );
}

/** A script of a model: it asks for a command that passes and one that deny-rm.py and quick-start.ts forbid. */
const MODEL = `
- toolCalls: [{ name: bash, arguments: { command: "echo hello" } }]
- toolCalls: [{ name: bash, arguments: { command: "rm -rf ./precious" } }]
- { expect: { role: toolResult, isError: true }, text: "It was refused." }
`;

/** A data dir and a working folder with a model's script; `run` starts the program in it. */
function workplace(folder: Folder) {
  const model = `replay:${folder.file("model.yml", MODEL)}`;
  const options = { cwd: folder.path, env: { XDEV_DATA_DIR: `${folder.path}/data` } };
  return { model, options, run: (args: readonly string[]) => xdev(args, options) };
}

describe("xdev ext trace", () => {
  test("without a prompt prints the handshake, the start of a session and the end", async () => {
    using folder = new Folder();
    const { run } = workplace(folder);
    const outcome = await run(["ext", "trace", DENY_RM]);
    assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
    const lines = trace(outcome);
    assert.deepEqual(passed(lines), ["> hello", "< capabilities", "> session_start", "< response", "close"]);
    assert.deepEqual((lines[2]?.frame?.payload as { cwd: string } | undefined)?.cwd, folder.path);
    const worker = trace(await run(["ext", "trace", QUICK_START]));
    assert.deepEqual(passed(worker), [
      "> hello",
      "< capabilities",
      "> session_start",
      "< call",
      "> return",
      "< response",
      "close",
    ]);
  });

  test("takes the name of an extension of the data dir, and says which there are", async () => {
    using folder = new Folder();
    const { run } = workplace(folder);
    folder.program("data/extensions/policy.py", readFileSync(DENY_RM, "utf8"));
    folder.file("data/extensions/broken.ts", "export default () => { throw new Error('loaded'); };");
    const outcome = await run(["ext", "trace", "policy"]);
    assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
    const unknown = await run(["ext", "trace", "polcy"]);
    assert.deepEqual([unknown.status, unknown.stdout], [2, ""]);
    assert.match(unknown.stderr, /no extension polcy .*broken, policy/);
  });

  for (const [path, kind] of [
    [DENY_RM, "process"],
    [QUICK_START, "worker"],
  ] as const) {
    test(`with a prompt makes a run with that ${kind} extension alone; the answer is on standard error`, async () => {
      using folder = new Folder();
      const { model, run } = workplace(folder);
      folder.file("data/extensions/other.ts", "export default () => { throw new Error('loaded'); };");
      const outcome = await run(["ext", "trace", path, "--model", model, "--", "do", "it"]);
      assert.equal(outcome.status, 0, outcome.stderr);
      assert.equal(outcome.stderr, "It was refused.\n");
      const lines = trace(outcome);
      const questions = lines.filter(({ frame }) => frame?.event === "tool_call");
      assert.deepEqual(
        questions.map(({ frame }) => (frame?.payload as { arguments: unknown } | undefined)?.arguments),
        [{ command: "echo hello" }, { command: "rm -rf ./precious" }],
      );
      const answers = questions.map(
        ({ frame }) =>
          lines.find((line) => line.frame?.type === "response" && line.frame.id === frame?.id)?.frame,
      );
      assert.deepEqual(
        answers.map((answer) => answer?.allow),
        [true, false],
      );
      assert.ok(lines.at(-1)?.close);
    });
  }

  test("of an extension that does not load has status 1, and shows how far it came", async () => {
    using folder = new Folder();
    const { model, run } = workplace(folder);
    const path = folder.program("bad.sh", "#!/bin/sh\necho why >&2\nexit 4\n");
    for (const prompt of [[], ["--model", model, "--", "hello"]]) {
      const outcome = await run(["ext", "trace", path, ...prompt]);
      assert.equal(outcome.status, 1);
      assert.deepEqual(passed(trace(outcome)), ["> hello", "log", "close"]);
      assert.match(outcome.stderr, /extension bad .* exited with status 4/);
    }
  });

  test("is valid and harmless whatever the extension sends", async () => {
    using folder = new Folder();
    const { run } = workplace(folder);
    const path = folder.program(
      "hostile.py",
      `#!/usr/bin/env python3
import json, sys
sys.stdin.readline()
sys.stderr.write("\\x1b]0;owned\\x07 \\u202e{\\n")
print('{"type":"log","text":"\\u009b2J \\\\ud800 \\\\u0000","level":"\\u2028"}')
print(json.dumps({"type": "capabilities", "payload": {"events": ["\\x9b"], "label": "\\u202e\\n"}}, ensure_ascii=False), flush=True)
sys.stdout.buffer.write(b"\\xff\\xfe nonsense\\n"); sys.stdout.buffer.flush()
sys.stdin.read()
`,
    );
    const outcome = await run(["ext", "trace", path]);
    assert.doesNotMatch(outcome.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    const lines = trace(outcome);
    assert.equal(lines.find(({ frame }) => frame?.type === "log")?.frame?.text, "\u009b2J \ud800 \u0000");
    assert.match(
      lines.find(({ problem }) => problem)?.problem ?? "",
      /^sent a line that is not JSON, where only frames may be: /,
    );
    assert.ok(lines.at(-1)?.close, "its end is there, too");
    assert.equal(outcome.status, 1, "it died");
  });

  test("ends at Ctrl+C, and so does the extension", async () => {
    using folder = new Folder();
    const { options } = workplace(folder);
    const path = folder.program("slow.sh", `#!/bin/sh\necho $$ > ${folder.path}/pid\nexec sleep 60\n`);
    const { child, ended } = start(["ext", "trace", path], options);
    const pid = await pidIn(`${folder.path}/pid`);
    child.kill("SIGINT");
    assert.equal((await ended).status, 130);
    await gone(pid);
  });
});

describe("xdev ext replay", () => {
  /** Records a run with an extension and gives the file. */
  async function record(folder: Folder, path: string): Promise<string> {
    const { model, run } = workplace(folder);
    const outcome = await run(["ext", "trace", path, "--model", model, "--", "go"]);
    assert.equal(outcome.status, 0, outcome.stderr);
    return folder.file("trace.ndjson", outcome.stdout);
  }

  for (const path of [DENY_RM, QUICK_START]) {
    test(`against the extension that was recorded shows no difference: ${path.split("/").at(-1)}`, async () => {
      using folder = new Folder();
      const file = await record(folder, path);
      const { run } = workplace(folder);
      const outcome = await run(["ext", "replay", file, "--against", path]);
      assert.equal(
        outcome.stdout,
        `capabilities: same
1 session_start: same
2 tool_call bash: same
3 tool_call bash: same
no difference: capabilities and 3 answers
`,
      );
      assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
    });
  }

  test("against a changed copy shows exactly the change, with status 1; --json for programs", async () => {
    using folder = new Folder();
    const file = await record(folder, QUICK_START);
    const changed = folder.file(
      "quick-start.ts",
      readFileSync(QUICK_START, "utf8").replace("Blocked by extension policy", "Blocked by \\u001b[31mme"),
    );
    const { run } = workplace(folder);
    const text = await run(["ext", "replay", file, "--against", changed]);
    assert.equal(text.status, 1);
    assert.equal(
      text.stdout,
      `capabilities: same
1 session_start: same
2 tool_call bash: same
3 tool_call bash: differs
    reason: "Blocked by extension policy" → "Blocked by \\u001b[31mme"
1 of 3 answers differs
`,
    );
    const json = await run(["ext", "replay", file, "--against", "./quick-start.ts", "--json"]);
    assert.equal(json.status, 1);
    const report = JSON.parse(json.stdout);
    assert.deepEqual(report.extension, { name: "quick-start", path: changed, kind: "worker" });
    assert.deepEqual(
      [
        report.same,
        report.capabilities.status,
        report.events.map(({ status }: { status: string }) => status),
      ],
      [false, "same", ["same", "same", "differs"]],
    );
    assert.deepEqual(report.events[2].differences, [
      { path: "reason", recorded: "Blocked by extension policy", replayed: "Blocked by \u001b[31mme" },
    ]);
  });

  test("against one that does not load says why, with status 1", async () => {
    using folder = new Folder();
    const file = await record(folder, DENY_RM);
    const { run } = workplace(folder);
    const outcome = await run([
      "ext",
      "replay",
      file,
      "--against",
      folder.program("bad.sh", "#!/bin/sh\nexit 4\n"),
    ]);
    assert.equal(outcome.status, 1);
    assert.match(outcome.stdout, /^capabilities: missing: it exited with status 4$/m);
  });

  test("of a file that is no trace is wrong use: status 2, and the line is named", async () => {
    using folder = new Folder();
    const { run } = workplace(folder);
    const file = folder.file("notes.txt", `{"time":1,"direction":"ext→host","log":"fine"}\nsome notes\n`);
    const outcome = await run(["ext", "replay", file, "--against", DENY_RM]);
    assert.deepEqual([outcome.status, outcome.stdout], [2, ""]);
    assert.match(outcome.stderr, /notes\.txt:2: this is no line of a trace: some notes/);
    for (const args of [
      ["ext", "replay", file],
      ["ext", "replay", "/nonexistent", "--against", DENY_RM],
    ]) {
      assert.equal((await run(args)).status, 2, args.join(" "));
    }
  });

  test("ends at Ctrl+C, and so does the extension", async () => {
    using folder = new Folder();
    const file = await record(folder, DENY_RM);
    const path = folder.program(
      "slow.sh",
      `#!/bin/sh
printf '%s\\n' '{"type":"capabilities","payload":{"events":["session_start","tool_call"]}}'
echo $$ > ${folder.path}/pid
exec sleep 60
`,
    );
    const { options } = workplace(folder);
    const { child, ended } = start(["ext", "replay", file, "--against", path], options);
    const pid = await pidIn(`${folder.path}/pid`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill("SIGINT");
    assert.deepEqual(await ended.then(({ status, stdout }) => [status, stdout]), [130, ""]);
    await gone(pid);
  });
});

async function pidIn(file: string): Promise<number> {
  for (;;) {
    try {
      const text = readFileSync(file, "utf8");
      if (text.endsWith("\n")) return Number(text);
    } catch {
      // It is not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
