/** Trust is in exactly the files that the user was shown, and in nothing that can't be looked at. */
import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readAuthority } from "../../src/config/authority.ts";
import { differences, readTrust, recordOf, trustFile, writeTrust } from "../../src/config/trust.ts";
import { findWorkspace } from "../../src/config/workspace.ts";
import { Folder } from "../support/folder.ts";

/** A repository with one of each that carries authority, and some that doesn't. */
function repository(folder: Folder): string {
  folder.file("repo/.git/HEAD", "");
  folder.file("repo/.xdev/hooks/deny.yml", "event: tool_call\ncommand: x\n");
  folder.program("repo/.xdev/hooks/turn_end.sh", "#!/bin/sh\n");
  folder.file("repo/.xdev/hooks/lib/helper.py", "");
  folder.file("repo/.xdev/extensions/a/index.ts", "");
  folder.file("repo/.xdev/config.yml", "hooks: {}\n");
  folder.file("repo/.xdev/models.yml", "");
  folder.file("repo/.xdev/skills/pdf/SKILL.md", "a skill");
  folder.program("repo/.xdev/skills/pdf/scripts/extract.sh", "#!/bin/sh\n");
  folder.file("repo/.xdev/prompts/review.md", "a prompt");
  folder.file("repo/.xdev/rules/no-any.md", "a rule");
  folder.program("repo/.xdev/bin/tool", "#!/bin/sh\n");
  folder.file("repo/.xdev/notes.md", "no authority");
  return join(folder.path, "repo/.xdev");
}

describe("what carries authority", () => {
  test("is hooks, extensions, settings, models, skills, prompts, rules, everything executable and what they may use, with a digest each", async () => {
    using folder = new Folder();
    const { files, problems } = await readAuthority(repository(folder));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      files.map(({ path, kind }) => [path, kind]),
      [
        ["bin/tool", "program"],
        ["config.yml", "settings"],
        ["extensions/a/index.ts", "extension"],
        ["hooks/deny.yml", "hook"],
        ["hooks/lib/helper.py", "hook"],
        ["hooks/turn_end.sh", "hook"],
        ["models.yml", "models"],
        ["notes.md", "other"],
        ["prompts/review.md", "prompt"],
        ["rules/no-any.md", "rule"],
        ["skills/pdf/SKILL.md", "skill"],
        ["skills/pdf/scripts/extract.sh", "skill"],
      ],
    );
    for (const { digest } of files) assert.match(digest, /^[0-9a-f]{64}(?:\+x)?$/);
    const textOf = (path: string) => files.find((file) => file.path === path)?.text;
    assert.equal(textOf("hooks/deny.yml"), "event: tool_call\ncommand: x\n");
    assert.deepEqual(["skills/pdf/SKILL.md", "prompts/review.md", "rules/no-any.md"].map(textOf), [
      "a skill",
      "a prompt",
      "a rule",
    ]);
  });

  test("is the same under names that some file systems don't tell apart", async () => {
    using folder = new Folder();
    folder.file("repo/.xdev/Hooks/a.yml", "");
    folder.file("repo/.xdev/CONFIG.yml", "");
    const { files } = await readAuthority(join(folder.path, "repo/.xdev"));
    assert.deepEqual(
      files.map(({ kind }) => kind),
      ["settings", "hook"],
    );
  });

  const unsafe: [string, (xdev: string) => void, RegExp][] = [
    [
      "a hook that is a link out of it",
      (xdev) => symlinkSync("/etc/passwd", `${xdev}/hooks/a.yml`),
      /leads out/,
    ],
    [
      "a link out of it by way of another",
      (xdev) => {
        symlinkSync("b.yml", `${xdev}/hooks/a.yml`);
        symlinkSync("../../outside", `${xdev}/hooks/b.yml`);
        writeFileSync(`${xdev}/../outside`, "");
      },
      /leads out/,
    ],
    [
      "a folder of hooks that is a link out of it",
      (xdev) => {
        rmSync(`${xdev}/hooks`, { recursive: true });
        symlinkSync("/etc", `${xdev}/hooks`);
      },
      /leads out/,
    ],
    [
      "a link to a folder that nobody looks at",
      (xdev) => {
        mkdirSync(`${xdev}/data`);
        symlinkSync("../data", `${xdev}/hooks/data`);
      },
      /link to a folder/,
    ],
    ["a link to nothing", (xdev) => symlinkSync("nothing", `${xdev}/hooks/a.yml`), /a\.yml: /],
    [
      "the folder itself being a link",
      (xdev) => {
        renameSync(xdev, `${xdev}-real`);
        symlinkSync(`${xdev}-real`, xdev);
      },
      /is a link/,
    ],
  ];
  for (const [what, spoil, problem] of unsafe) {
    test(`can't be trusted with ${what}`, async () => {
      using folder = new Folder();
      const xdev = repository(folder);
      spoil(xdev);
      const { problems } = await readAuthority(xdev);
      assert.match(problems.join("\n"), problem);
    });
  }

  test("may be linked within the folder, and is digested by what the link leads to", async () => {
    using folder = new Folder();
    const xdev = repository(folder);
    symlinkSync("../notes.md", `${xdev}/hooks/linked.yml`);
    symlinkSync("../extensions/a", `${xdev}/extensions/b`);
    const before = await readAuthority(xdev);
    assert.deepEqual(before.problems, []);
    writeFileSync(`${xdev}/notes.md`, "changed");
    const record = recordOf(before, new Date());
    assert.deepEqual(differences(record, await readAuthority(xdev)), [
      "changed hooks/linked.yml",
      "changed notes.md",
    ]);
  });
});

describe("a trusted workspace", () => {
  const changes: [string, (xdev: string) => void, string[]][] = [
    ["nothing changes", () => {}, []],
    [
      "a file changes that hooks or extensions may use",
      (xdev) => writeFileSync(`${xdev}/notes.md`, "x"),
      ["changed notes.md"],
    ],
    ["a hook changes", (xdev) => writeFileSync(`${xdev}/hooks/deny.yml`, "x"), ["changed hooks/deny.yml"]],
    [
      "a helper changes",
      (xdev) => writeFileSync(`${xdev}/hooks/lib/helper.py`, "x"),
      ["changed hooks/lib/helper.py"],
    ],
    [
      "an extension changes",
      (xdev) => writeFileSync(`${xdev}/extensions/a/index.ts`, "x"),
      ["changed extensions/a/index.ts"],
    ],
    ["a file is new", (xdev) => writeFileSync(`${xdev}/hooks/lib/json.py`, ""), ["new hooks/lib/json.py"]],
    ["a file is gone", (xdev) => rmSync(`${xdev}/hooks/deny.yml`), ["gone hooks/deny.yml"]],
    ["a file becomes executable", (xdev) => chmodSync(`${xdev}/notes.md`, 0o755), ["changed notes.md"]],
    [
      "a hook becomes executable",
      (xdev) => chmodSync(`${xdev}/hooks/deny.yml`, 0o755),
      ["changed hooks/deny.yml"],
    ],
  ];
  for (const [when, change, expected] of changes) {
    test(`${expected.length > 0 ? "is not trusted any more" : "stays trusted"} when ${when}`, async () => {
      using folder = new Folder();
      const xdev = repository(folder);
      const record = recordOf(await readAuthority(xdev), new Date());
      change(xdev);
      assert.deepEqual(differences(record, await readAuthority(xdev)), expected);
    });
  }
});

describe("the record", () => {
  const record = { trustedAt: "2026-11-30T00:00:00.000Z", files: { "hooks/a.yml": "00" } };

  test("is in the data dir, for the user alone, even if the file was there with another mode", async () => {
    using folder = new Folder();
    const dataDir = join(folder.path, "data");
    await writeTrust(dataDir, "/repo", record);
    assert.equal(statSync(trustFile(dataDir)).mode & 0o777, 0o600);
    chmodSync(trustFile(dataDir), 0o644);
    await writeTrust(dataDir, "/other", record);
    assert.equal(statSync(trustFile(dataDir)).mode & 0o777, 0o600);
    assert.deepEqual(
      [...(await readTrust(dataDir))],
      [
        ["/other", record],
        ["/repo", record],
      ],
    );
    await writeTrust(dataDir, "/repo", undefined);
    assert.deepEqual([...(await readTrust(dataDir)).keys()], ["/other"]);
    assert.deepEqual(readdirSync(dataDir), ["trust.json"]);
  });

  test("is made by nobody who only looks", async () => {
    using folder = new Folder();
    const dataDir = join(folder.path, "data");
    assert.equal((await readTrust(dataDir)).size, 0);
    await writeTrust(dataDir, "/repo", undefined);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  for (const [what, text] of [
    ["no JSON", "{"],
    ["empty", ""],
    ["of another version", '{"version":2,"workspaces":{}}'],
    ["of another shape", '{"version":1,"workspaces":{"/repo":{"trustedAt":"x","files":["hooks/a.yml"]}}}'],
  ] as const) {
    test(`trusts nothing, says so and is not overwritten when it is ${what}`, async () => {
      using folder = new Folder();
      const file = folder.file("trust.json", text, 0o600);
      await assert.rejects(readTrust(folder.path), /trust\.json can't be used, so no workspace is trusted/);
      await assert.rejects(writeTrust(folder.path, "/repo", record));
      assert.equal(readFileSync(file, "utf8"), text);
    });
  }

  test("trusts nothing when others can write it", async () => {
    using folder = new Folder();
    await writeTrust(folder.path, "/repo", record);
    chmodSync(trustFile(folder.path), 0o666);
    await assert.rejects(readTrust(folder.path), /can be written by other users/);
  });
});

describe("the workspace of a folder", () => {
  const find = async (folder: Folder, cwd: string, dataDir = "data") =>
    findWorkspace(join(folder.path, cwd), join(folder.path, dataDir));

  test("is the nearest with a .xdev up to the git root, else the git root, else the folder itself", async () => {
    using folder = new Folder();
    repository(folder);
    folder.file("repo/sub/deep/x", "");
    folder.file("repo/own/.xdev/config.yml", "");
    folder.file("plain/sub/x", "");
    folder.file("bare/.git/HEAD", "");
    folder.file("bare/sub/x", "");
    const root = (name: string) => join(folder.path, name);
    assert.deepEqual(await find(folder, "repo/sub/deep"), { root: root("repo"), hasFolder: true });
    assert.deepEqual(await find(folder, "repo/own"), { root: root("repo/own"), hasFolder: true });
    assert.deepEqual(await find(folder, "bare/sub"), { root: root("bare"), hasFolder: false });
    assert.deepEqual(await find(folder, "plain/sub"), { root: root("plain/sub"), hasFolder: false });
    symlinkSync("repo/sub", root("link"));
    assert.deepEqual(await find(folder, "link"), { root: root("repo"), hasFolder: true });
  });

  test("is not looked for above the git root, nor above a folder without one", async () => {
    using folder = new Folder();
    folder.file(".xdev/hooks/a.yml", "");
    folder.file("repo/.git/HEAD", "");
    folder.file("plain/x", "");
    assert.equal((await find(folder, "repo")).hasFolder, false);
    assert.equal((await find(folder, "plain")).hasFolder, false);
  });

  test("is not the user's own folder, in which the data dir is", async () => {
    using folder = new Folder();
    folder.file("home/.xdev/agent/hooks/a.yml", "");
    assert.equal((await find(folder, "home", "home/.xdev/agent")).hasFolder, false);
    assert.equal((await find(folder, "home", "home/.xdev")).hasFolder, false);
  });
});
