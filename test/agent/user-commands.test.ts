/** What the user runs himself: in the shell, and in a Python that lives as long as the session. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { toModelMessages } from "../../src/agent/messages.ts";
import { PythonSession } from "../../src/agent/python.ts";
import { parseUserCommand, runUserBash, runUserPython } from "../../src/agent/user-commands.ts";
import { Folder } from "../support/folder.ts";
import { isRunning } from "../support/processes.ts";

const ENV = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" };

function bash(
  command: string,
  folder: Folder,
  more: { signal?: AbortSignal; onUpdate?: (text: string) => void } = {},
) {
  return runUserBash(command, { cwd: folder.path, env: ENV, scratch: async () => folder.path, ...more });
}

/** A session of Python in a folder. */
class Python implements AsyncDisposable {
  readonly session: PythonSession;
  readonly #folder: Folder;

  constructor(folder: Folder, env: Record<string, string> = ENV) {
    this.#folder = folder;
    this.session = new PythonSession({ cwd: folder.path, env });
  }

  run(
    code: string,
    more: { signal?: AbortSignal; onUpdate?: (text: string) => void; excludeFromContext?: boolean } = {},
  ) {
    return runUserPython(code, this.session, { scratch: async () => this.#folder.path, ...more });
  }

  async output(code: string): Promise<string> {
    return (await this.run(code)).output;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.session.close();
  }
}

function textFor(message: AgentMessage): unknown {
  return toModelMessages([message]).map(({ content }) => content)[0];
}

describe("a text of the user", () => {
  const commands: [string, string, string, boolean][] = [
    ["!ls -l", "bash", "ls -l", false],
    ["!! ls", "bash", "ls", true],
    ["  $ 1 + 1 ", "python", "1 + 1", false],
    ["$$x = 1\ny = 2", "python", "x = 1\ny = 2", true],
    ["!!!x", "bash", "!x", true],
  ];
  for (const [text, kind, source, excludeFromContext] of commands) {
    test(`is a command: ${JSON.stringify(text)}`, () =>
      assert.deepEqual(parseUserCommand(text), { kind, source, excludeFromContext }));
  }
  for (const text of ["", "!", "!! ", "$", "$$", "a !b", "costs $5"]) {
    test(`is none: ${JSON.stringify(text)}`, () => assert.equal(parseUserCommand(text), undefined));
  }
});

describe("a shell command of the user", () => {
  test("gives its output in order, and its status; the model is told", async () => {
    using folder = new Folder();
    const { timestamp, ...message } = await bash("echo out; echo err >&2; echo end; exit 3", folder);
    assert.deepEqual(message, {
      role: "bashExecution",
      command: "echo out; echo err >&2; echo end; exit 3",
      output: "out\nerr\nend",
      truncated: false,
      exitCode: 3,
      cancelled: false,
    });
    const text = textFor({ ...message, timestamp } as AgentMessage);
    assert.equal(
      text,
      "Ran `echo out; echo err >&2; echo end; exit 3`\n\n```\nout\nerr\nend\n```\n\nCommand exited with code 3",
    );
  });

  test("is kept from the model with !!", () => {
    const message = {
      role: "bashExecution",
      command: "x",
      output: "",
      exitCode: 0,
      cancelled: false,
      truncated: false,
      timestamp: 0,
    } as const;
    assert.equal(textFor(message), "Ran `x`\n\n(no output)");
    assert.equal(textFor({ ...message, excludeFromContext: true }), undefined);
  });

  test("can't end the block in which its output stands", () => {
    const message = {
      role: "bashExecution",
      command: "a\n`b`",
      output: "```\nx",
      exitCode: undefined,
      cancelled: true,
      truncated: false,
      timestamp: 0,
    } as const;
    assert.equal(textFor(message), "Ran:\n\n```sh\na\n`b`\n```\n\n````\n```\nx\n````\n\n(cancelled)");
  });

  test("of which there is much: its end, and all of it in a file that only the user can read", async () => {
    using folder = new Folder();
    const message = await bash("seq 1 5000", folder);
    assert.equal(message.truncated, true);
    assert.match(message.output, /\n5000$/);
    assert.ok(message.output.length <= 50 * 1024);
    assert.match(readFileSync(message.fullOutputPath!, "utf8"), /^1\n2\n/);
    assert.equal(statSync(message.fullOutputPath!).mode & 0o777, 0o600);
  });

  test("shows what it does while it runs, ends when the user says so, and leaves nothing behind", async () => {
    using folder = new Folder();
    const abort = new AbortController();
    const message = await bash("sleep 600 & echo $!; wait", folder, {
      signal: abort.signal,
      onUpdate: (text) => void (/\d/.test(text) && abort.abort()),
    });
    assert.deepEqual([message.cancelled, message.exitCode], [true, undefined]);
    assert.equal(isRunning(Number(message.output)), false);
  });
});

describe("Python of the user", () => {
  test("goes on from command to command, and shows the last value", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    assert.equal(await python.output("x = 20\ndef f(n):\n  return n + 1\n"), "");
    assert.equal(await python.output("f(x) * 2"), "42");
    assert.equal(await python.output("print('a'); _"), "a\n42");
    assert.equal(await python.output("for i in range(2): print(i)\n'é' + chr(0x1F600)"), "0\n1\n'é😀'");
    assert.equal(await python.output("None"), "");
    const { timestamp, ...message } = await python.run("x", { excludeFromContext: true });
    assert.deepEqual(message, {
      role: "pythonExecution",
      code: "x",
      output: "20",
      truncated: false,
      exitCode: 0,
      cancelled: false,
      excludeFromContext: true,
    });
    assert.equal(textFor({ ...message, timestamp } as AgentMessage), undefined);
    const told = textFor({ ...message, timestamp, excludeFromContext: false } as AgentMessage);
    assert.equal(told, "Ran in Python:\n\n```python\nx\n```\n\n```\n20\n```");
  });

  test("shows an exception with the user's own lines and nothing of ours, and goes on", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    const { output, exitCode } = await python.run("y = 5\ndef f():\n  return y / 0\nf()");
    assert.match(output, /^Traceback \(most recent call last\):\n {2}File "<\$1>", line 4, in <module>/);
    assert.match(output, /line 3, in f\n {4}return y \/ 0\n[\s\S]*ZeroDivisionError: division by zero$/);
    assert.equal(exitCode, 1);
    assert.match(await python.output("1 +"), /SyntaxError/);
    assert.equal(await python.output("y"), "5");
  });

  test("may do with its standard streams what it likes", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    assert.match(await python.output("input()"), /EOFError/);
    assert.equal(
      await python.output("import os, sys; os.write(1, b'\\x1e raw \\xff\\n') and None"),
      " raw �",
    );
    assert.equal(await python.output("sys.stderr.write('e'); sys.stdout.write('o'); None"), "eo");
    assert.equal(
      await python.output("import subprocess; subprocess.run(['sh', '-c', 'cat; echo child']).returncode"),
      "child\n0",
    );
    assert.equal(await python.output("sys.stdout = None; sys.stderr = open(os.devnull, 'w')"), "");
    await python.output("sys.stdout = sys.__stdout__; sys.stderr = sys.__stderr__");
    assert.equal(await python.output("os.close(1); os.close(2)"), "");
    assert.equal((await python.run("z = 3")).exitCode, 0);
    assert.equal((await python.run("assert z == 3")).exitCode, 0);
  });

  test("that forks has one process that goes on", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    await python.run("import os; parent = os.getpid(); child = os.fork()");
    assert.equal(await python.output("os.getpid() == parent and os.waitpid(child, 0)[1]"), "0");
  });

  test("is interrupted by the user and keeps what it had; a program that it waits for is interrupted, too", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    await python.run("x = 1; import time, subprocess");
    for (const wait of ["while True: pass", "time.sleep(600)", "subprocess.run(['sleep', '600'])"]) {
      const abort = new AbortController();
      const message = await python.run(`print('go')\n${wait}`, {
        signal: abort.signal,
        onUpdate: () => abort.abort(),
      });
      assert.deepEqual([message.output, message.cancelled, message.exitCode], ["go", true, undefined]);
      assert.equal(await python.output("x"), "1");
    }
    for (let attempt = 0; attempt < 20; attempt++) {
      const abort = new AbortController();
      const run = python.run("while True: pass", { signal: abort.signal });
      await Promise.resolve();
      abort.abort();
      assert.equal((await run).cancelled, true);
      assert.equal(await python.output("x"), "1", "at once, too");
    }
    const message = await python.run("x = 2", { signal: AbortSignal.abort() });
    assert.equal(message.cancelled, true);
    assert.equal(await python.output("x"), "1");
  });

  test("that does not listen is ended, and the next command has a new one", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    const abort = new AbortController();
    const code =
      "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('go')\ntime.sleep(600)";
    const message = await python.run(code, { signal: abort.signal, onUpdate: () => abort.abort() });
    assert.equal(message.output, "go\n\n[the Python process has ended, and what it had defined is gone]");
    assert.equal(message.cancelled, true);
    assert.match(await python.output("time"), /NameError/);
  });

  test("that ends itself says so, also between two commands, and the next command has a new one", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    for (const code of [
      "import sys; print('bye'); sys.exit(2)",
      "import os; os.write(1, b'bye'); os._exit(2)",
    ]) {
      const { output, exitCode, cancelled } = await python.run(code);
      assert.match(output, /^bye\n\n\[the Python process has ended/);
      assert.deepEqual([exitCode, cancelled], [undefined, false]);
    }
    assert.equal(await python.output("1"), "1");
  });

  test("has an output of any length, shown as it comes, its end kept", async () => {
    using folder = new Folder();
    await using python = new Python(folder);
    const seen: string[] = [];
    const message = await python.run("for i in range(200000): print(i)", {
      onUpdate: (text) => void seen.push(text),
    });
    assert.equal(message.truncated, true);
    assert.match(message.output, /\n199999$/);
    assert.ok(statSync(message.fullOutputPath!).size > 1_000_000);
    assert.ok(seen.length > 0);
    const flood =
      "import threading\nprint('now')\nthreading.Thread(target=lambda: [print('late') for _ in range(100000)]).start()";
    await python.run(flood);
    assert.match(await python.output("'next'"), /'next'/);
  });

  test("imports modules of the folder, but not in place of its own", async () => {
    using folder = new Folder();
    for (const name of ["json", "ast", "random", "sitecustomize"]) {
      folder.file(`${name}.py`, "open('canary', 'w'); raise Exception('taken over')");
    }
    folder.file("mine.py", "value = 7");
    await using python = new Python(folder);
    assert.equal(await python.output("import json, random, mine; mine.value"), "7");
    assert.equal(existsSync(join(folder.path, "canary")), false);
  });

  test("leaves nothing behind when the session ends, even in the middle of a command", async () => {
    using folder = new Folder();
    const python = new Python(folder);
    const pid = Number(await python.output("import os; os.getpid()"));
    const child = Number(await python.output("import subprocess; subprocess.Popen(['sleep', '600']).pid"));
    const started = Promise.withResolvers<void>();
    const running = python.run("print('go')\nwhile True: pass", { onUpdate: () => started.resolve() });
    await started.promise;
    await python.session.close();
    assert.match((await running).output, /has ended/);
    assert.deepEqual([pid, child].map(isRunning), [false, false]);
    await assert.rejects(python.run("1"), /closed/);
  });

  test("is told to be missing where it is, or to be of no use with the reason", async () => {
    using folder = new Folder();
    await using none = new Python(folder, { PATH: `relative:${folder.path}` });
    await assert.rejects(none.run("1"), { code: "no-python", message: /no python3 on your PATH/ });
    folder.program("python3", "#!/bin/sh\necho 'it is broken' >&2\nexit 1\n");
    await using broken = new Python(folder, { PATH: folder.path });
    await assert.rejects(broken.run("1"), {
      code: "no-python",
      message: /python3 can't be used: it is broken/,
    });
  });
});
