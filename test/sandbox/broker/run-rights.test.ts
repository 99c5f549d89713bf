/** Programs by the real rules of permissions: what each grant lets run, and what it does not. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Permissions } from "../../../sandbox/permissions/permissions.ts";
import { authorityOf } from "../../support/authority.ts";
import { Folder } from "../../support/folder.ts";

interface Place {
  folder: Folder;
  /** `output`, or the code and message of the refusal. */
  run(what: object, env?: Record<string, string>, cwd?: string): Promise<string>;
}

async function withGrants(
  granted: Permissions,
  use: (place: Place) => Promise<void>,
  prepare: (folder: Folder) => void = () => {},
): Promise<void> {
  using folder = new Folder();
  for (const name of ["cwd", "home", "tmp", "data/storage/test"]) {
    mkdirSync(join(folder.path, name), { recursive: true });
  }
  prepare(folder);
  const authority = authorityOf({
    cwd: join(folder.path, "cwd"),
    home: join(folder.path, "home"),
    tmp: join(folder.path, "tmp"),
    dataDir: join(folder.path, "data"),
    granted: { test: granted },
    env: { PATH: `${folder.path}/bin:${process.env.PATH}` },
  });
  const { broker } = await authority({ name: "test" } as never, {} as never, () => () => {});
  try {
    await use({
      folder,
      async run(what, env = {}, cwd) {
        const text = JSON.stringify({ what, env, cwd, maxBuffer: 10_000 });
        const answer = await broker.call("run.sync", text, undefined);
        if (answer.error === undefined) return Buffer.from(answer.bytes!).toString();
        const { code, message } = JSON.parse(answer.error);
        return `${code} ${message}`;
      },
    });
  } finally {
    await broker.close();
  }
}

const git = { file: "git", args: ["--version"] };

describe("a grant to run", () => {
  test("nothing lets nothing run, and the refusal says what would", async () => {
    await withGrants({}, async ({ run }) => {
      assert.match(await run(git), /^EACCES .*--allow-run=git/);
      assert.match(await run({ command: "git --version" }), /^EACCES .*--allow-run=git/);
      assert.match(await run({ command: "git --version; ls" }), /^EACCES .*--allow-run=sh/);
    });
  });

  test("one program is none for a shell, for another program, or for a file of its name", async () => {
    await withGrants({ run: ["git"] }, async ({ run, folder }) => {
      folder.program("cwd/git", "#!/bin/sh\necho mine");
      folder.program("data/storage/test/git", "#!/bin/sh\necho mine");
      assert.match(await run(git), /^git version/);
      assert.match(await run({ command: "git --version" }), /^git version/);
      assert.match(await run({ command: "git --version && ls" }), /^EACCES/);
      assert.match(await run({ file: "ls", args: [] }), /^EACCES/);
      assert.match(await run({ file: "sh", args: ["-c", "git --version"] }), /^EACCES/);
      assert.match(await run({ file: "./git", args: [] }), /^EACCES/);
      assert.match(await run({ file: join(folder.path, "data/storage/test/git"), args: [] }), /^EACCES/);
      assert.match(await run(git, { PATH: join(folder.path, "data/storage/test") }), /^git version/);
    });
  });

  test("a program with leading arguments is none for others", async () => {
    await withGrants({ run: ["git --version"] }, async ({ run }) => {
      assert.match(await run(git), /^git version/);
      assert.match(await run({ file: "git", args: ["-c", "x.y=z", "--version"] }), /^EACCES/);
    });
  });

  test("a program with leading arguments does not work in a folder that the extension fills", async () => {
    const prepare = (folder: Folder): void => {
      const storage = "data/storage/test/repository";
      for (const name of ["objects", "refs"]) {
        mkdirSync(join(folder.path, storage, ".git", name), { recursive: true });
      }
      folder.file(`${storage}/.git/HEAD`, "ref: refs/heads/main\n");
      folder.file(`${storage}/.git/config`, `[core]\n\tfsmonitor = "touch ${folder.path}/ran; false"\n`);
      mkdirSync(join(folder.path, "home/notes"));
    };
    const status = { file: "git", args: ["status"] };
    await withGrants(
      { run: ["git status"], read: ["$HOME"] },
      async ({ run, folder }) => {
        const storage = join(folder.path, "data/storage/test/repository");
        assert.match(await run(status, {}, storage), /^EACCES .* may write the folder/);
        assert.match(await run({ command: "git status" }, {}, storage), /^EACCES/);
        assert.ok(!existsSync(join(folder.path, "ran")));
        // Where it only reads it may.
        assert.doesNotMatch(await run(status, {}, join(folder.path, "home/notes")), /^EACCES/);
      },
      prepare,
    );
    await withGrants(
      { run: ["git"] },
      async ({ run, folder }) =>
        assert.match(await run(status, {}, join(folder.path, "data/storage/test/repository")), /main/),
      prepare,
    );
  });

  test("everything is none for a shell", async () => {
    await withGrants({ run: ["*"] }, async ({ run, folder }) => {
      symlinkSync("/bin/sh", join(folder.path, "cwd/harmless"));
      assert.match(await run(git), /^git version/);
      assert.match(await run({ command: "git --version; ls" }), /^EACCES/);
      assert.match(await run({ file: "sh", args: ["-c", "ls"] }), /^EACCES/);
      assert.match(await run({ file: "./harmless", args: ["-c", "ls"] }), /^EACCES/);
    });
  });

  test("a program that the extension may also write runs nothing", async () => {
    const prepare = (folder: Folder): void => {
      folder.program("home/bin/tool", "#!/bin/sh\necho mine");
      mkdirSync(join(folder.path, "bin"));
      symlinkSync(join(folder.path, "home/bin/tool"), join(folder.path, "bin/tool"));
    };
    const tool = { file: "tool", args: [] };
    const runs = async ({ run }: Place) => assert.equal(await run(tool), "mine\n");
    const refuses = async ({ run }: Place) =>
      assert.match(await run(tool), /^EACCES .* may write this file itself/);
    await withGrants({ run: ["tool"] }, runs, prepare);
    await withGrants({ run: ["tool"], write: ["$HOME"] }, refuses, prepare);
    await withGrants({ run: ["*"], write: ["$HOME"] }, refuses, prepare);
    await withGrants({ run: ["tool", "sh"], write: ["$HOME"] }, runs, prepare);
  });

  test("the shell lets everything run", async () => {
    await withGrants({ run: ["sh"] }, async ({ run }) => {
      assert.equal(await run({ command: "echo a; echo b" }), "a\nb\n");
    });
  });
});
