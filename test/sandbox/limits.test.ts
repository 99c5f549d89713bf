/**
 * Limits of an extension: over one it is ended, named, and what it guarded is denied; and whatever it does, the agent's own loop is not
 * late by more than 10 ms because of it. Each case runs in a program of its own (test/fixtures/limits-run.ts).
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ExtensionHostSettings } from "../../src/config/settings.ts";
import type { Measured } from "../fixtures/limits-run.ts";
import { Folder } from "../support/folder.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/limits-run.ts", import.meta.url));
const isDeno = "Deno" in globalThis;
/** Under Deno a worker can't be ended, so that no extension runs in one unless the user wants that. */
const LEVELS = isDeno ? (["host"] as const) : (["worker", "host"] as const);
const LATE_MS = 10;

async function measure(level: "worker" | "host", body: string, settings: Partial<ExtensionHostSettings>) {
  using folder = new Folder();
  const path = folder.file(
    "guest.ts",
    `export default (pi) => { pi.on("tool_call", async () => {\n${body}\n}); };`,
  );
  const task = JSON.stringify({ level, path, settings });
  const args = isDeno ? ["run", "--allow-all", "--no-check", "--quiet", PROGRAM, task] : [PROGRAM, task];
  const program = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  program.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  await new Promise((resolve) => program.once("close", resolve));
  return JSON.parse(text.trim().split("\n").at(-1)!) as Measured;
}

const TOO_LATE = /^did not answer tool_call within 1 s$/;
const TOO_MUCH = /^used more than 64 MB of memory \(extensionHost\.maxHeapBytes\)$/;
const TOO_OFTEN = /^sent more than 1000 frames in a second \(extensionHost\.maxFramesPerSecond\)$/;

/** What an extension does, and what ends it. */
const CASES: [string, string, RegExp, Partial<ExtensionHostSettings>?][] = [
  ["an endless loop", "for (;;);", TOO_LATE],
  ["a memory bomb of objects", "const all = []; for (;;) all.push({ a: [1, 2, 3] });", TOO_MUCH],
  ["a memory bomb of buffers", "const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1));", TOO_MUCH],
  [
    "a memory bomb that answers",
    `const all = [];
     await new Promise(() => setInterval(() => { for (let i = 0; i < 20000; i++) all.push({ a: [1, 2, 3] }); }, 5));`,
    TOO_MUCH,
    { eventTimeoutMs: 20_000 },
  ],
  [
    "a memory bomb of what is in no heap",
    `const all = [], names = {}, segmenter = new Intl.Segmenter("en"), text = "x".repeat(1e6);
     let count = 0;
     await new Promise(() => setInterval(() => {
       if (count >= 1000) return;
       names[text + count++] = 1;
       all.push(segmenter.segment(text + "\u1234"));
     }, 2));`,
    TOO_MUCH,
    { eventTimeoutMs: 20_000 },
  ],
  [
    "endless microtasks",
    "const next = () => Promise.resolve().then(next); next(); await new Promise(() => {});",
    /./,
  ],
  ["a flood of messages", 'for (;;) console.log("x");', TOO_OFTEN],
  ["a flood of messages between two turns", 'for (;;) { console.log("x"); await null; }', TOO_OFTEN],
  [
    "a flood of errors that nothing catches",
    `for (;;) {
       for (let i = 0; i < 100; i++) queueMicrotask(() => { throw ""; });
       await new Promise((resolve) => setTimeout(resolve, 0));
     }`,
    TOO_OFTEN,
  ],
  [
    "a flood of log text",
    'for (;;) console.log("x".repeat(100000));',
    /^wrote more than 1048576 bytes to its log in a second \(extensionHost\.maxLogBytesPerSecond\)$/,
  ],
  [
    "a flood of timers",
    "for (;;) setTimeout(() => {}, 1e6);",
    /^had more than 10000 timers \(extensionHost\.maxTimers\)$/,
  ],
  ["a catastrophic regular expression", 'for (;;) /^(a|a?)+$/.test(`${"a".repeat(50)}b`);', TOO_LATE],
  ["a promise that never settles", "await new Promise(() => {});", TOO_LATE],
  ["deep recursion", "const down = () => down() + 1; for (;;) { try { down(); } catch {} }", TOO_LATE],
  [
    "a log line that is full of places in its code",
    `const long = "xdev-bundle:5 ".repeat(100_000);
     globalThis.String = () => ({ slice: () => long });
     for (;;) { pi.logger.info("x"); await null; }`,
    TOO_OFTEN,
  ],
  [
    "a system call with forty megabytes",
    `const fs = await import("node:fs");
     const long = new Uint8Array(40e6);
     long.subarray = () => long;
     globalThis.Uint8Array = function () { return long; };
     for (;;) try { fs.writeSync(3, new DataView(new ArrayBuffer(1))); } catch {}`,
    /^(did not answer|used more)/,
  ],
  [
    "a flood of system calls with bytes",
    `const fs = await import("node:fs");
     const bytes = new Uint8Array(500_000);
     for (;;) try { fs.writeSync(3, bytes); } catch {}`,
    /^(did not answer|used more)/,
  ],
  [
    "a string of 1 GB",
    `const text = "x".repeat(2 ** ${isDeno ? 29 : 30} - 30);
     let sum = 0;
     for (let at = 0; at < text.length; at += 4096) sum += text.charCodeAt(at);
     console.log(text);
     await new Promise(() => {});`,
    /^(used more than 64 MB|lost its extension host|threw)/,
    { eventTimeoutMs: 20_000 },
  ],
];

describe("limits", { skip: process.platform !== "linux" }, () => {
  for (const level of LEVELS) {
    for (const [what, body, reason, settings] of CASES) {
      test(`${what} ends the extension, named, and never holds up the agent (${level})`, async () => {
        const tries: Measured[] = [];
        // The machine has hiccups of its own: what it does to a loop that has nothing to do is allowed, and it may try again.
        for (let round = 0; round < 3; round++) {
          const measured = await measure(level, body, { eventTimeoutMs: 1000, ...settings });
          tries.push(measured);
          assert.match(measured.reason ?? "(none)", reason);
          assert.equal(measured.state, "dead");
          assert.match(measured.verdict, /^blocked by extension guest: /);
          assert.match(measured.notices.join("\n"), /^extension guest .*; it is off now$/);
          if (measured.busy <= LATE_MS + measured.idle) return;
        }
        const worst = tries.map(
          ({ busy, idle }) => `${busy.toFixed(1)} (with nothing to do ${idle.toFixed(1)})`,
        );
        assert.fail(`the loop was late by ${worst.join(", ")} ms`);
      });
    }
  }
});
