/**
 * The one script that needs nothing but Node with npm: installs the pinned toolchain and dependencies if they are not the lock
 * file's, then hands over to Bun.
 *
 * Usage: node scripts/toolchain.mjs build|demo|test|bench [argument…]
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bun = join(root, "node_modules", ".bin", "bun");
const stampFile = join(root, "node_modules", ".xdev-lock");

const [task, ...args] = process.argv.slice(2);
if (!["build", "demo", "test", "bench"].includes(task ?? "")) {
  console.error("usage: node scripts/toolchain.mjs build|demo|test|bench [argument…]");
  process.exit(2);
}
install();
if (task === "demo") run(bun, [join(root, "scripts", "build.ts")]);
run(bun, [join(root, "scripts", `${task}.ts`), ...args]);

function install() {
  const manifest = readFileSync(join(root, "package.json"), "utf8");
  const lock = readFileSync(join(root, "bun.lock"), "utf8");
  const stamp = createHash("sha256").update(manifest).update(lock).digest("hex");
  if (existsSync(bun) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return;
  const version = JSON.parse(manifest).devDependencies.bun;
  console.log(`installing bun ${version} and the dependencies (once)…`);
  run("npx", ["--yes", `bun@${version}`, "install", "--frozen-lockfile"]);
  writeFileSync(stampFile, stamp);
}

function run(command, commandArgs) {
  const result = spawnSync(command, commandArgs, { cwd: root, stdio: "inherit" });
  if (result.error) {
    console.error(`cannot run ${command}: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}
