/** Reloads leave nothing: the resident memory of the program is about what it was, however often its extensions are exchanged. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { Client } from "../support/rpc-program.ts";

const isDeep = process.env.XDEV_TEST_DEEP !== undefined;
const RELOADS = isDeep ? 200 : 6;
const EXTENSIONS = 10;
/** What the promise is. */
const LIMIT_MB = 100;
const HANG_MS = isDeep ? 900_000 : 120_000;

const EXTENSION = (name: string, version: number) => `
const text = "${version} ".repeat(1000);
export default (pi) => {
  pi.on("session_start", () => {});
  pi.on("tool_call", () => {});
  pi.registerCommand("${name}", { handler: () => text.length });
};`;

function residentMb(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1]) / 1024;
}

const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

/** A host that has nothing to do collects what is left; the least of a while is what is used. */
async function settledMb(pid: number): Promise<number> {
  let least = residentMb(pid);
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    least = Math.min(least, residentMb(pid));
  }
  return least;
}

const isLinux = process.platform === "linux";

describe(`${RELOADS} reloads of ${EXTENSIONS} extensions`, { skip: !isLinux && "needs /proc" }, () => {
  for (const isChanged of [true, false]) {
    const what = isChanged ? "that have changed each time" : "that are the same";
    test(`${what} leave the memory within ${LIMIT_MB} MB, and no file open`, {
      timeout: HANG_MS,
    }, async () => {
      using folder = new Folder();
      folder.file("work/x", "");
      const write = (version: number) => {
        for (let i = 0; i < EXTENSIONS; i++) {
          folder.file(`data/extensions/e${i}.ts`, EXTENSION(`e${i}`, version));
        }
      };
      write(0);
      await using client = new Client(folder, "- text: hi\n");
      const pid = client.child.pid!;
      await client.say("/e0");
      const reload = async (version: number) => {
        if (isChanged) write(version);
        const from = client.records.length;
        await client.say("/reload");
        const told = await client.reloaded(from);
        if (isChanged) assert.match(told, /started anew: e0, /);
        else assert.match(told, /unchanged: 10/);
        client.records.length = 0;
      };
      // What it loads for the first one stays.
      for (let version = 1; version <= 2; version++) await reload(version);
      const [before, filesBefore] = [await settledMb(pid), openFiles(pid)];
      for (let version = 3; version < 3 + RELOADS; version++) await reload(version);
      const [after, filesAfter] = [await settledMb(pid), openFiles(pid)];
      const threads = /Threads:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      console.log(
        `${before.toFixed(0)} MB, then ${after.toFixed(0)} MB; ${filesBefore} and ${filesAfter} files; ${threads} threads`,
      );
      assert.ok(after - before < LIMIT_MB, `${before.toFixed(0)} MB became ${after.toFixed(0)} MB`);
      assert.ok(filesAfter <= filesBefore + 20, join(String(filesBefore), String(filesAfter)));
    });
  }
});
