/** Extensions' log files: what a stranger says is kept, harmless, and never costs more than it may. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { describe, test } from "node:test";
import { addSecret } from "../../src/base/log.ts";
import { programStarter } from "../../src/base/process.ts";
import { decideToolCall } from "../../src/extensions/chain.ts";
import { openExtensionLog } from "../../src/extensions/log-file.ts";
import { processChannel } from "../../src/extensions/process.ts";
import { loadExtensions } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";

const FIVE_MB = 5 * 1024 * 1024;

function logPath(folder: Folder, name = "x"): string {
  return `${folder.path}/logs/ext-${name}.log`;
}

/** The lines without their times. */
function lines(folder: Folder, suffix = ""): string[] {
  const text = readFileSync(logPath(folder) + suffix, "utf8");
  assert.ok(text.endsWith("\n"), "whole lines");
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => {
      assert.match(line, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warn|error) /);
      return line.slice(25);
    });
}

/** The longest time, in ms, for which the event loop did nothing else, while `work` was done. */
async function longestDelay(work: () => Promise<unknown>): Promise<{ delay: number; memory: number }> {
  const before = process.memoryUsage().rss;
  const result = { delay: 0, memory: 0 };
  let last = performance.now();
  const watch = setInterval(() => {
    const now = performance.now();
    result.delay = Math.max(result.delay, now - last);
    result.memory = Math.max(result.memory, process.memoryUsage().rss - before);
    last = now;
  }, 1);
  await work();
  clearInterval(watch);
  return result;
}

/** Runs a module in a process of its own, under the runtime of this test. */
function runModule(path: string): Promise<number | null> {
  const args = "Deno" in globalThis ? ["run", "--allow-all", "--no-check", path] : [path];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  return new Promise((resolve) => child.on("close", resolve));
}

const MODULE = JSON.stringify(new URL("../../src/extensions/log-file.ts", import.meta.url).href);

describe("an extension's log", () => {
  test("has a time, a level and a text in each line; the folder and the file are the user's alone", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "first");
    log.write("error", "second");
    log.write("loud", "a level that is none counts as info");
    await log.close();
    assert.deepEqual(lines(folder), [
      "info first",
      "error second",
      "info a level that is none counts as info",
    ]);
    assert.equal(statSync(logPath(folder)).mode & 0o777, 0o600);
    assert.equal(statSync(`${folder.path}/logs`).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(`${folder.path}/logs`), ["ext-x.log"]);
  });

  test("is not there if the extension says nothing", async () => {
    using folder = new Folder();
    await openExtensionLog(folder.path, "x").close();
    assert.deepEqual(readdirSync(folder.path), []);
  });

  test("is written soon, not only at the end", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "now");
    while (!existsSync(logPath(folder)) || statSync(logPath(folder)).size === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(lines(folder), ["info now"]);
    await log.close();
    assert.equal(log.write("info", "late"), false);
    await log.close();
    assert.deepEqual(lines(folder), ["info now"]);
  });

  test("has no name that leads out of its folder", () => {
    for (const name of ["", "../x", "a/b", "a\0b", ".", "ä"]) {
      assert.throws(() => openExtensionLog("/nonexistent", name), /not the name of an extension/);
    }
  });

  test("holds no escape codes, and a text cannot pretend to be another line", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "\u001b[31mred\u001b[0m \u001b]0;title\u0007bell\u0007 \u009b2J \u202eback");
    log.write("info", "one\n2026-01-01T00:00:00.000Z error two\r\nthree");
    await log.close();
    assert.deepEqual(lines(folder), [
      "info red bell  back",
      "info one",
      "info 2026-01-01T00:00:00.000Z error two",
      "info three",
    ]);
  });

  test("holds no secret, not even one that is split by an escape code", async () => {
    using folder = new Folder();
    addSecret("sk-log-test-1234");
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "key sk-log-test-1234, key sk-log\u001b[0m-test-1234");
    await log.close();
    assert.deepEqual(lines(folder), ["info key [secret], key [secret]"]);
  });

  test("cuts a line at 16 KB", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "x".repeat(8 * 1024 * 1024));
    await log.close();
    const [line] = lines(folder);
    assert.equal(line?.length, "info ".length + 16 * 1024);
    assert.match(line ?? "", /x…$/);
  });

  test("becomes .log.1 at 5 MB, counted over all runs, in the place of an older one", async () => {
    using folder = new Folder();
    const old = `${"o".repeat(FIVE_MB - 100)}\n`;
    folder.file("logs/ext-x.log", old);
    folder.file("logs/ext-x.log.1", "older");
    const first = openExtensionLog(folder.path, "x");
    first.write("info", "it fits");
    await first.close();
    assert.ok(statSync(logPath(folder)).size > old.length);
    const second = openExtensionLog(folder.path, "x");
    second.write("info", "y".repeat(200));
    await second.close();
    assert.deepEqual(lines(folder), [`info ${"y".repeat(200)}`]);
    assert.match(readFileSync(`${logPath(folder)}.1`, "utf8"), /^o+\n.* info it fits\n$/s);
    assert.deepEqual(readdirSync(`${folder.path}/logs`).sort(), ["ext-x.log", "ext-x.log.1"]);
  });

  test("takes a lock that a killed process left for a moment only", async () => {
    using folder = new Folder();
    folder.file("logs/ext-x.log", "o".repeat(FIVE_MB));
    const lock = folder.file("logs/ext-x.log.lock", "");
    utimesSync(lock, new Date(0), new Date(0));
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "the lock is removed");
    await new Promise((resolve) => setTimeout(resolve, 100));
    log.write("info", "the file is rotated");
    await log.close();
    assert.deepEqual(lines(folder), ["info the file is rotated"]);
    assert.ok(!existsSync(lock));
  });

  test("of two processes that write at once, loses and tears no line, over a rotation, too", async () => {
    using folder = new Folder();
    folder.file("logs/ext-x.log", `${"o".repeat(FIVE_MB - 60_000)}\n`);
    const writer = (name: string) =>
      folder.file(
        `${name}.ts`,
        `import { openExtensionLog } from ${MODULE};
        const log = openExtensionLog(${JSON.stringify(folder.path)}, "x");
        for (let n = 0; n < 1000; n++) {
          log.write("info", ${JSON.stringify(name)} + " " + n + " " + "-".repeat(n % 50));
          if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await log.close();`,
      );
    const statuses = await Promise.all(["a", "b"].map((name) => runModule(writer(name))));
    assert.deepEqual(statuses, [0, 0]);
    const old = readFileSync(`${logPath(folder)}.1`, "utf8");
    writeFileSync(`${logPath(folder)}.1`, old.slice(old.indexOf("\n") + 1));
    const all = [...lines(folder, ".1"), ...lines(folder)];
    for (const name of ["a", "b"]) {
      const own = all.filter((line) => line.startsWith(`info ${name} `));
      // A batch of one may be in the old file behind a later one of the other; within a process the order stays.
      assert.deepEqual(
        own,
        Array.from({ length: 1000 }, (_, n) => `info ${name} ${n} ${"-".repeat(n % 50)}`.trimEnd()),
      );
    }
    assert.deepEqual(readdirSync(`${folder.path}/logs`).sort(), ["ext-x.log", "ext-x.log.1"]);
  });

  test("has the last words of a program that exits without closing it", async () => {
    using folder = new Folder();
    const path = folder.file(
      "exit.ts",
      `import { openExtensionLog } from ${MODULE};
      openExtensionLog(${JSON.stringify(folder.path)}, "x").write("error", "last words");
      process.exit(0);`,
    );
    assert.equal(await runModule(path), 0);
    assert.deepEqual(lines(folder), ["error last words"]);
  });

  /** Each makes writing fail, and gives what ends that. */
  const obstacles: [string, (path: string) => () => void][] = [
    [
      "the disk is full",
      (path) => {
        symlinkSync("/dev/full", path);
        return () => rmSync(path);
      },
    ],
    [
      "its path is a folder",
      (path) => {
        mkdirSync(path);
        return () => rmdirSync(path);
      },
    ],
    [
      "its folder is a file",
      (path) => {
        rmdirSync(dirname(path));
        writeFileSync(dirname(path), "");
        return () => rmSync(dirname(path));
      },
    ],
  ];
  for (const [what, block] of obstacles) {
    test(`when ${what}, drops lines without an error, counts them, and goes on when that is over`, async () => {
      if (what === "the disk is full" && !existsSync("/dev/full")) return;
      using folder = new Folder();
      mkdirSync(`${folder.path}/logs`);
      const clear = block(logPath(folder));
      const log = openExtensionLog(folder.path, "x");
      log.write("info", "lost");
      log.write("info", "lost, too");
      await new Promise((resolve) => setTimeout(resolve, 100));
      clear();
      await new Promise((resolve) => setTimeout(resolve, 1100));
      log.write("info", "kept");
      await log.close();
      assert.deepEqual(lines(folder), ["warn … 2 lines dropped", "info kept"]);
    });
  }

  test("makes its folder again if somebody removed it", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    log.write("info", "one");
    await new Promise((resolve) => setTimeout(resolve, 100));
    rmSync(`${folder.path}/logs`, { recursive: true });
    log.write("info", "two");
    await log.close();
    assert.deepEqual(lines(folder), ["info two"]);
  });

  test("keeps a part of a flood, and counts the rest exactly", async () => {
    using folder = new Folder();
    const log = openExtensionLog(folder.path, "x");
    const total = 200_000;
    let kept = 0;
    for (let n = 0; n < total; n++) if (log.write("info", `line ${n}`)) kept++;
    await log.close();
    assert.ok(kept > 1000 && kept < 10_000, `${kept} kept`);
    assert.ok(statSync(logPath(folder)).size < 1024 * 1024);
    const all = lines(folder);
    const dropped = all.flatMap((line) => /^warn … (\d+) lines? dropped$/.exec(line)?.[1] ?? []);
    assert.equal(
      dropped.reduce((sum, count) => sum + Number(count), kept),
      total,
    );
  });

  test("costs neither memory nor the event loop's time when it cannot be written during a flood", async () => {
    using folder = new Folder();
    folder.file("logs", "no folder");
    const line = "y".repeat(1000);
    const log = openExtensionLog(folder.path, "x");
    const { delay, memory } = await longestDelay(async () => {
      const end = performance.now() + 1500;
      while (performance.now() < end) {
        for (let n = 0; n < 1000; n++) log.write("info", line);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await log.close();
    });
    assert.ok(delay < 1000, `${delay} ms`);
    assert.ok(memory < 100e6, `${memory} bytes`);
  });
});

describe("an extension that floods its standard error", () => {
  /** 200 MB each. Without a limit the first one holds Bun's event loop for 15 s. */
  const floods: [string, string][] = [
    ["short lines", "yes | head -c 200000000 >&2"],
    ["long lines", `yes "$(printf '%0999d' 0)" | head -c 200000000 >&2`],
    ["no line end", "head -c 200000000 /dev/zero >&2"],
    ["escape codes", `yes "$(printf '\\033[31mred\\033]0;t\\007')" | head -c 200000000 >&2`],
  ];
  for (const [what, body] of floods) {
    test(`with ${what} costs little memory, and the event loop goes on`, async () => {
      using folder = new Folder();
      const path = folder.program("flood.sh", `#!/bin/sh\n${body}\necho the end >&2\n`);
      const log = openExtensionLog(folder.path, "x");
      const { delay, memory } = await longestDelay(async () => {
        const start = await programStarter();
        const channel = processChannel({ path, env: process.env, maxFrameBytes: 1e6, start });
        await new Promise<void>((resolve) => {
          channel.open({
            onMessage: () => {},
            onProblem: () => {},
            onLog: (line) => void log.write("info", line),
            onClose: () => resolve(),
          });
        });
        await channel.kill();
        await log.close();
      });
      // Measured: 4 to 8 ms, and 15 s without a limit; the rest is for a machine that does other things, too.
      assert.ok(delay < 1000, `${delay} ms`);
      // Deno collects the chunks of its own streams late.
      assert.ok(memory < ("Deno" in globalThis ? 190e6 : 100e6), `${memory} bytes`);
      assert.ok(statSync(logPath(folder)).size < 4 * 1024 * 1024);
      assert.ok(
        lines(folder).some((line) => /… \d+ lines? dropped$|too long/.test(line)),
        "what is dropped is said",
      );
    });
  }

  test("still gets its questions, and its answers count", async () => {
    using folder = new Folder();
    const path = folder.program(
      "loud.sh",
      `#!/bin/sh
printf '%s\\n' '{"type":"capabilities","payload":{"events":["tool_call"]}}'
yes >&2 &
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  id=$(printf '%s' "$line" | sed 's/.*"id":"\\([0-9]*\\)".*/\\1/')
  printf '{"type":"response","id":"%s","allow":true}\\n' "$id"
done
`,
    );
    await using loaded = await loadExtensions([path]);
    for (let n = 0; n < 5; n++) {
      const verdict = await decideToolCall(
        loaded.manager.interceptors(),
        { tool: "bash", arguments: {}, callId: "c" },
        (args) => args,
      );
      assert.equal(verdict.allow, true);
    }
  });
});
