/**
 * All tests: format, lint and types; the build; `bun test`; the portable tests under Deno; and, when all is over, that no
 * process and no temporary file is left. Ends with the line `N passed, N failed`.
 *
 * Usage: scripts/test [--deep] [PATH…]    (--deep adds the slow sweeps; paths limit what `bun test` runs)
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { HOST_ARGUMENT } from "../src/platform/host-argument.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({ options: { deep: { type: "boolean" } }, allowPositionals: true });

/** Tests that run under Deno, too: everything that is not Bun's bundler or the executable. */
const PORTABLE = [
  "test/base",
  "test/agent",
  "test/config",
  "test/models",
  "test/extensions",
  "test/conformance",
  "test/hooks",
  "test/session",
  "test/sandbox",
  "test/escape",
  "test/compat/load.test.ts",
];
/** Tests that run a second time with their guests in an extension host. */
const LEVELS = ["test/sandbox/guest", "test/escape"];

// Everything that the tests make goes below this folder, and everything that they start has it in its environment.
const scratch = realpathSync(mkdtempSync(join(tmpdir(), "xdev-tests-")));
chmodSync(scratch, 0o755); // some tests run as another user
const env: Record<string, string | undefined> = {
  ...process.env,
  TMPDIR: scratch,
  ...(values.deep ? { XDEV_TEST_DEEP: "1" } : {}),
};

let passed = 0;
let failed = 0;

function step(
  name: string,
  command: string[],
  output: "inherit" | "pipe" = "inherit",
  more: Record<string, string> = {},
): boolean {
  console.log(`\n== ${name}`);
  const result = spawnSync(command[0]!, command.slice(1), {
    cwd: root,
    env: { ...env, ...more },
    stdio: ["ignore", output, output],
  });
  if (output === "pipe" && result.status !== 0) console.log(`${result.stdout}${result.stderr}`);
  return result.status === 0;
}

function count(name: string, ok: boolean): void {
  if (ok) passed++;
  else failed++;
  console.log(`${ok ? "ok  " : "FAIL"}  ${name}`);
}

/** Runs a test runner that writes a JUnit report, and adds its counts. A runner that fails without a failed test is one, too. */
function runner(
  name: string,
  command: (report: string) => string[],
  output: "inherit" | "pipe" = "inherit",
  more: Record<string, string> = {},
): void {
  const report = join(scratch, "report.xml");
  const ok = step(name, command(report), output, more);
  const counts = readReport(report);
  rmSync(report, { force: true });
  passed += counts.passed;
  failed += counts.failed;
  if (!ok && counts.failed === 0) count(`${name} ended with an error`, false);
  else if (counts.passed === 0) count(`${name} ran a test`, false);
}

function readReport(file: string): { passed: number; failed: number } {
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // No report: the runner did not get that far.
  }
  const cases = text.match(/<testcase\b[^>]*?(?:\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const skipped = cases.filter((one) => one.includes("<skipped"));
  for (const one of skipped) console.log(`not tried: ${/name="([^"]*)"/.exec(one)?.[1] ?? one}`);
  const bad = cases.filter((one) => one.includes("<failure") || one.includes("<error"));
  return { passed: cases.length - skipped.length - bad.length, failed: bad.length };
}

/** Processes that have our scratch folder in their environment, and extension hosts without an agent, as `pid name`. */
function leftProcesses(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, "latin1").includes(`TMPDIR=${scratch}`);
      if (!isOurs && !isStrayHost(pid)) return [];
      return [`${pid} ${readFileSync(`/proc/${pid}/comm`, "utf8").trim()}`];
    } catch {
      return [];
    }
  });
}

/** An extension host has no environment; one whose agent is gone is process 1's. */
function isStrayHost(pid: string): boolean {
  const command = readFileSync(`/proc/${pid}/cmdline`, "latin1");
  if (!command.includes(HOST_ARGUMENT) && !command.includes("data:text/javascript;base64,")) return false;
  return /\) \S 1 /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

const bin = (name: string) => join(root, "node_modules", ".bin", name);
try {
  if (positionals.length === 0) {
    count("format and lint", step("biome check", [bin("biome"), "check", "."], "pipe"));
    count("types", step("tsc", [bin("tsc"), "--noEmit"], "pipe"));
  }
  count("build", step("build", [process.execPath, join(root, "scripts", "build.ts")]));
  runner("bun test", (report) => [
    process.execPath,
    "test",
    "--timeout=60000",
    "--only-failures",
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...(positionals.length > 0 ? positionals : ["test"]),
  ]);
  if (positionals.length === 0) {
    runner(
      "bun test (guests in an extension host)",
      (report) => [
        ...[process.execPath, "test", "--timeout=60000", "--only-failures"],
        ...["--reporter=junit", `--reporter-outfile=${report}`, ...LEVELS],
      ],
      "inherit",
      { XDEV_TEST_LEVEL: "host", XDEV_ESCAPE_LEVEL: "host" },
    );
    runner(
      "deno test (the portable tests)",
      (report) => [
        ...[bin("deno"), "test", "--allow-all", "--no-check", "--quiet", `--junit-path=${report}`],
        ...PORTABLE,
      ],
      "pipe",
    );
  }
  // What ends because its parent has just ended is given the time to do so.
  let processes = leftProcesses();
  for (let tries = 0; processes.length > 0 && tries < 20; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    processes = leftProcesses();
  }
  count(`no process is left${processes.map((line) => `\n      ${line}`).join("")}`, processes.length === 0);
  // Bun and Deno keep caches there; what a test of ours makes begins with xdev.
  const files = readdirSync(scratch).filter((name) => name.startsWith("xdev"));
  count(`no temporary file is left${files.map((name) => `\n      ${name}`).join("")}`, files.length === 0);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
