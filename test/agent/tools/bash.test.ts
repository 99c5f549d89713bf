import assert from "node:assert/strict";
import { readFile, rm, stat } from "node:fs/promises";
import { describe, test } from "node:test";
import { MAX_BYTES, MAX_LINES } from "../../../src/agent/tools/limits.ts";
import { ended, inFolder, spillPath, textOf } from "./support.ts";

describe("bash", () => {
  test("gives the output, and status 0 in the details", () =>
    inFolder(async ({ call, cwd }) => {
      const result = await call("bash", { command: "pwd" });
      assert.equal(textOf(result), cwd);
      assert.equal((result.details as { exitCode: number }).exitCode, 0);
    }));

  test("keeps standard output and standard error in the order in which they were written", () =>
    inFolder(async ({ call }) => {
      const command = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done";
      const expected = [1, 2, 3, 4, 5].flatMap((i) => [`out${i}`, `err${i}`]).join("\n");
      assert.equal(textOf(await call("bash", { command })), expected);
    }));

  test("says so when there is no output", () =>
    inFolder(async ({ call }) =>
      assert.equal(textOf(await call("bash", { command: "true" })), "(no output)"),
    ));

  test("reports a failing status as an error, with the output", () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "echo half; exit 3" });
      assert.equal(result.isError, true);
      assert.equal(textOf(result), "half\n\n[exit status 3]");
    }));

  test("names the signal that ended a command", () =>
    inFolder(async ({ call }) => {
      assert.match(textOf(await call("bash", { command: "kill -SEGV $$" })), /exit status 139 \(SIGSEGV\)/);
      assert.match(textOf(await call("bash", { command: "sh -c 'kill -9 $$'; exit $?" })), /137 \(SIGKILL\)/);
    }));

  test("reports a syntax error of the command, with its own line number", () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "echo one\necho (" });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /line 2/);
    }));

  test("gives the command an empty standard input", () =>
    inFolder(async ({ call }) =>
      assert.equal(textOf(await call("bash", { command: "cat; echo end" })), "end"),
    ));

  test("says what failed when the working folder is gone", () =>
    inFolder(async ({ call, cwd }) => {
      await rm(cwd, { recursive: true });
      await assert.rejects(call("bash", { command: "true" }), /cannot run .*bash in /);
    }));

  test("kills the whole group at the time-out and reports the output so far", () =>
    inFolder(async ({ call }) => {
      let pid = 0;
      await assert.rejects(
        call("bash", { command: "sleep 1000 & echo $!; trap '' TERM; wait; sleep 1000", timeout: 0.3 }),
        (error: Error) => {
          pid = Number.parseInt(error.message, 10);
          return /timed out after 300 ms/.test(error.message);
        },
      );
      assert.ok(pid > 0);
      assert.ok(await ended(pid));
    }));

  test("kills the whole group on abort, at once", () =>
    inFolder(async ({ call }) => {
      const abort = new AbortController();
      let pid = 0;
      const started = performance.now();
      const running = call(
        "bash",
        { command: "sleep 1000 & echo $!; wait" },
        {
          signal: abort.signal,
          onUpdate(text) {
            pid = Number(text);
            abort.abort();
          },
        },
      );
      await assert.rejects(running, { message: "aborted" });
      assert.ok(performance.now() - started < 3000);
      assert.ok(await ended(pid));
    }));

  test("starts nothing when it is aborted already", () =>
    inFolder(async ({ call, get }) => {
      await assert.rejects(
        call("bash", { command: "touch made" }, { signal: AbortSignal.abort() }),
        /aborted/,
      );
      await assert.rejects(get("made"));
    }));

  test("does not wait for a background process that holds the output open, kills it and says so", () =>
    inFolder(async ({ call }) => {
      const started = performance.now();
      const result = await call("bash", { command: "sleep 1000 & echo $!" });
      assert.ok(performance.now() - started < 3000);
      assert.match(textOf(result), /killed what was left in the background: /);
      assert.ok(await ended(Number.parseInt(textOf(result), 10)));
    }));

  test("kills a background process that has closed its output", () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "sleep 1000 >/dev/null 2>&1 & echo $!" });
      assert.match(textOf(result), /killed what was left/);
      assert.ok(await ended(Number.parseInt(textOf(result), 10)));
    }));

  test("returns although a process outside the group holds the output open", { skip: noSetsid() }, () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "setsid sleep 1000 & sleep 0.2; echo $!" });
      process.kill(Number.parseInt(textOf(result), 10), "SIGKILL");
    }),
  );

  test("says nothing of background processes that have ended by themselves", () =>
    inFolder(async ({ call }) => {
      assert.equal(textOf(await call("bash", { command: "(true &); sleep 0.05; echo done" })), "done");
    }));

  test("keeps the tail of long output and puts all of it into a file", () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "seq 1 10000" });
      const lines = textOf(result).split("\n");
      assert.equal(lines[0], String(10000 - MAX_LINES + 1));
      assert.match(lines.at(-1)!, /The end of 10000 lines/);
      assert.ok(lines.at(-1)!.includes(spillPath(result)));
      const full = await readFile(spillPath(result), "utf8");
      assert.equal(full, Array.from({ length: 10000 }, (_, index) => `${index + 1}\n`).join(""));
    }));

  test("keeps the tail of one huge line", () =>
    inFolder(async ({ call }) => {
      const result = await call("bash", { command: "head -c 300000 /dev/zero | tr '\\0' x; printf END" });
      const [line] = textOf(result).split("\n");
      assert.equal(line!.length, MAX_BYTES);
      assert.ok(line!.endsWith("xEND"));
      assert.equal((await stat(spillPath(result))).size, 300003);
    }));

  test("survives a flood, and the file has a limit", { timeout: 60_000 }, () =>
    inFolder(async ({ call }) => {
      let message = "";
      await assert.rejects(
        call("bash", { command: "yes 0123456789012345678901234567890", timeout: 3 }),
        (error: Error) => {
          message = error.message;
          return true;
        },
      );
      assert.ok(Buffer.byteLength(message) < MAX_BYTES + 1000);
      assert.match(message, /timed out after 3 s/);
      const path = /Full output: (\S+)/.exec(message)![1]!;
      assert.ok((await stat(path)).size <= 100 * 1024 * 1024);
    }),
  );

  test("decodes characters whose bytes come in separate writes", () =>
    inFolder(async ({ call }) => {
      const command =
        "printf '\\xe2\\x82'; sleep 0.05; printf '\\xac \\xf0\\x9f'; sleep 0.05; printf '\\x98\\x80'";
      assert.equal(textOf(await call("bash", { command })), "€ 😀");
    }));

  test("shows no escape sequences, and of a progress bar its last state", () =>
    inFolder(async ({ call }) => {
      const command = "printf '\\033[31mred\\033[0m\\r\\n10%%\\r50%%\\r\\033[K100%%\\nend\\r\\n'";
      assert.equal(textOf(await call("bash", { command })), "red\n100%\nend");
    }));

  test("streams the output, but not more often than every 100 ms", () =>
    inFolder(async ({ call }) => {
      const updates: string[] = [];
      const started = performance.now();
      await call(
        "bash",
        { command: "for i in $(seq 1 60); do echo $i; sleep 0.005; done" },
        { onUpdate: (text) => updates.push(text) },
      );
      assert.ok(updates.length >= 2);
      assert.ok(updates.length <= (performance.now() - started) / 100 + 2);
      assert.ok(updates.at(-1)!.startsWith("1\n2\n"));
    }));
});

function noSetsid(): boolean {
  return process.platform !== "linux";
}
