/** A crash of the runtime itself (design.md, trap 6). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { start } from "../support/xdev.ts";

describe("a crash of the runtime", () => {
  test("sends nothing: no program is started that could", async () => {
    using folder = new Folder();
    const log = join(folder.path, "sent");
    for (const name of ["curl", "wget", "powershell"]) {
      folder.program(`bin/${name}`, `#!/bin/sh\necho "${name} $*" >> ${log}\n`);
    }
    const replay = folder.file("replay.json", JSON.stringify([{ text: "x", delayMs: 600_000 }]));
    const { child, ended } = start(
      ["-p", "go", "--mode", "json", "--model", `replay:${replay}`, "--data-dir", join(folder.path, "data")],
      { env: { PATH: `${folder.path}/bin:${process.env.PATH}` } },
    );
    for await (const line of createInterface({ input: child.stdout! })) {
      if (JSON.parse(line).type === "turn_start") child.kill("SIGSEGV");
    }
    const outcome = await ended;
    assert.notEqual(outcome.status, 0);
    assert.match(outcome.stderr, /crashed/);
    assert.ok(!existsSync(log));
  });
});
