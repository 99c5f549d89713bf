/** An extension host under Deno has no permission, whatever code runs in it. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { programStarter } from "../../../src/base/process.ts";
import { loadPlatform } from "../../../src/platform/index.ts";
import { Folder } from "../../support/folder.ts";
import { children } from "../../support/processes.ts";

/** Code in the place of the host's own, with the whole runtime at hand, in its main thread and in a worker. */
function intruder(file: string, port: number): string {
  const attempt = `
    const { readFileSync, writeFileSync, readdirSync } = await import("node:fs");
    const attempts = {
      read: () => Deno.readTextFileSync(${JSON.stringify(file)}),
      readNode: () => readFileSync(${JSON.stringify(file)}, "utf8"),
      readUrl: async () => (await fetch("file://" + ${JSON.stringify(file)})).text(),
      list: () => readdirSync("/"),
      write: () => writeFileSync(${JSON.stringify(file)}, "changed"),
      memory: () => Deno.readFileSync("/proc/self/maps"),
      run: () => new Deno.Command("/bin/sh", { args: ["-c", "id"] }).outputSync(),
      runNode: async () => (await import("node:child_process")).execFileSync("/bin/sh", ["-c", "id"]),
      connect: () => Deno.connect({ port: ${port} }),
      fetch: async () => (await fetch("http://127.0.0.1:${port}/")).text(),
      listen: () => Deno.listen({ port: 0 }),
      env: () => Deno.env.toObject(),
      envNode: () => process.env.HOME ?? process.env.PATH ?? (() => { throw new Error("none"); })(),
      system: () => Deno.hostname(),
      library: () => Deno.dlopen("libc.so.6", {}),
      module: () => import("file://" + ${JSON.stringify(file)}),
      kill: () => Deno.kill(${process.pid}, "SIGUSR1"),
    };
    const said = {};
    for (const [name, run] of Object.entries(attempts)) {
      try { said[name] = "GOT " + String(await run()).slice(0, 60); } catch { said[name] = "no"; }
    }`;
  return `export async function runHost() {
    ${attempt}
    const text = ${JSON.stringify(`${attempt} postMessage(said);`)};
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module" });
    const inWorker = await new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
    Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify([said, inWorker])));
    Deno.exit(0);
  }`;
}

describe("an extension host under Deno", { skip: !("Deno" in globalThis) }, () => {
  test("reads, writes, runs, connects and knows nothing, in a worker or outside", async () => {
    using folder = new Folder();
    const file = folder.file("secret.ts", "the canary");
    let connections = 0;
    const server = createServer((_, response) => {
      connections++;
      response.end("the canary");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const program = await (await loadPlatform()).hostProgram();
    assert.equal(
      program.args.some((flag) => /^(-A$|--allow|-[A-Z])/.test(flag)),
      false,
    );
    const host = Buffer.from(intruder(file, (server.address() as AddressInfo).port));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(host.length);
    const start = await programStarter(program.start);
    const child = start(program.file, program.args, { cwd: "/", env: {} });
    // What was asked for is what runs: other ways to start it add flags.
    if (process.platform === "linux") {
      const [running] = children().filter(({ pid }) => pid === child.pid);
      assert.doesNotMatch(running?.command ?? "", / -A |--allow/);
    }
    let text = "";
    child.read((chunk, stream) => {
      if (stream === "stdout") text += chunk.toString();
    });
    await child.write(Buffer.concat([length, host, Buffer.alloc(4)]));
    await Promise.all([child.exited, child.drained]);
    server.close();
    for (const said of JSON.parse(text) as Record<string, string>[]) {
      assert.deepEqual([...new Set(Object.values(said))], ["no"], JSON.stringify(said));
      assert.ok(Object.keys(said).length > 15);
    }
    assert.equal(connections, 0);
    writeFileSync(file, "the canary");
  });
});
