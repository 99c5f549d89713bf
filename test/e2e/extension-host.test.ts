/** The extension host of the compiled program: who runs there, and that it goes with its agent. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { gone } from "../support/processes.ts";
import { start, xdev } from "../support/xdev.ts";

/** Starts with the session. */
const MODULE = 'export default (pi) => { pi.on("session_start", () => {}); };';

interface Listed {
  name: string;
  kind: string;
  level: string;
  state: string;
}

async function levels(folder: Folder, ...args: string[]): Promise<string[]> {
  const data = `${folder.path}/data`;
  const outcome = await xdev([
    "ext",
    "list",
    "--json",
    "--data-dir",
    data,
    "--cwd",
    `${folder.path}/repo`,
    ...args,
  ]);
  assert.equal(outcome.status, 0, outcome.stderr);
  return (JSON.parse(outcome.stdout) as Listed[])
    .map(({ name, level, state }) => `${name} ${level} ${state}`)
    .sort();
}

/** The children of a process. */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(parent) ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

describe("the extension host of the program", () => {
  test("what a trusted project brings runs there, what the user has put in place does not, unless he says so", async () => {
    using folder = new Folder();
    folder.file("data/extensions/mine.ts", MODULE);
    folder.file("repo/.xdev/extensions/theirs.ts", MODULE);
    folder.file("named.ts", MODULE);
    const named = ["-e", `${folder.path}/named.ts`];
    assert.deepEqual(await levels(folder, ...named), ["mine worker ready", "named worker ready"]);
    const trusted = await xdev([
      "trust",
      `${folder.path}/repo`,
      "--yes",
      "--data-dir",
      `${folder.path}/data`,
    ]);
    assert.equal(trusted.status, 0, trusted.stderr);
    assert.deepEqual(await levels(folder, ...named), [
      "mine worker ready",
      "named worker ready",
      "theirs host ready",
    ]);
    folder.file(
      "data/config.yml",
      "extensionHost:\n  isolation: host\n  overrides:\n    theirs: { isolation: worker }\n",
    );
    assert.deepEqual(await levels(folder, ...named), [
      "mine host ready",
      "named host ready",
      "theirs worker ready",
    ]);
  });

  test("it knows nothing of the user, and goes with its agent, however that ends", {
    skip: process.platform !== "linux",
  }, async () => {
    using folder = new Folder();
    folder.file("data/config.yml", "extensionHost:\n  isolation: host\n  handshakeTimeoutMs: 20000\n");
    const path = folder.file("busy.ts", "await new Promise(() => {});\nexport default () => {};");
    const { child, ended } = start(["ext", "inspect", path, "--data-dir", `${folder.path}/data`], {
      env: { SECRET_TOKEN: "canary" },
    });
    let host: number | undefined;
    while (host === undefined) {
      [host] = childrenOf(child.pid!).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("--serve-extensions"),
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(readFileSync(`/proc/${host}/environ`, "latin1"), "");
    child.kill("SIGKILL");
    await ended;
    await gone(host);
  });

  test("started by hand it ends with its input, and whatever it reads that is no record", async () => {
    for (const input of ["", "help\n", "\0".repeat(100)]) {
      const outcome = await xdev(["--serve-extensions"], { input });
      assert.equal(outcome.stdout, "");
    }
    const help = await xdev(["--help"]);
    assert.equal(help.stdout.includes("serve-extensions"), false);
  });
});
