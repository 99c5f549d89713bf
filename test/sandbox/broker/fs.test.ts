import assert from "node:assert/strict";
import * as fs from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bytesOf, Extension, NEW_FILE, textOf } from "./fs-support.ts";

const READ = { read: true };

test("of large folders that are listed at the same time each has a turn of the event loop", async () => {
  await using extension = new Extension();
  for (let index = 0; index < 1100; index++) fs.writeFileSync(join(extension.work, `f${index}`), "");
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  const ends: number[] = [];
  const list = async (): Promise<void> => {
    const { value } = await extension.call("readdir", { path: ".", recursive: false, syscall: "scandir" });
    assert.equal(value.length, 1100);
    ends.push(turns);
  };
  await Promise.all(Array.from({ length: 12 }, list));
  isOver = true;
  assert.equal(new Set(ends).size, 12, String(ends));
});

describe("file operations", () => {
  test("write, append, read, copy and truncate files", async () => {
    await using extension = new Extension();
    await extension.write("a", "hello");
    const append = { flags: { write: true, append: true, create: true }, mode: 0o666, flush: true };
    await extension.call("writeFile", { path: "a", ...append }, bytesOf(" you"));
    assert.equal(await extension.read("a"), "hello you");
    await extension.call("copyFile", { path: "a", dest: "b", exclusive: true });
    assert.equal(await extension.code("copyFile", { path: "a", dest: "b", exclusive: true }), "EEXIST");
    await extension.call("truncate", { path: "b", length: 3 });
    assert.equal(fs.readFileSync(join(extension.work, "b"), "utf8"), "hel");
    await extension.call("copyFile", { path: "b", dest: "a", exclusive: false });
    assert.equal(await extension.read("a"), "hel");
    await extension.call("copyFile", { path: "a", dest: "a", exclusive: false });
    assert.equal(await extension.read("a"), "hel", "a copy to itself keeps it");
  });

  test("read and write pieces of open files in the order of the calls", async () => {
    await using extension = new Extension();
    const { value: id } = await extension.call("open", {
      path: "f",
      flags: { read: true, write: true, create: true },
      mode: 0o644,
    });
    await Promise.all(
      ["one", "two", "six"].map((text) => extension.call("write", { id, position: null }, bytesOf(text))),
    );
    await extension.call("write", { id, position: 3 }, bytesOf("TWO"));
    const { bytes } = await extension.call("read", { id, length: 100, position: 0 });
    assert.equal(textOf(bytes), "oneTWOsix");
    await extension.call("ftruncate", { id, length: 4 });
    await extension.call("fsync", { id, dataOnly: true });
    await extension.call("futimes", { id, atime: 1, mtime: 2.5 });
    const { value } = await extension.call("fstat", { id });
    assert.equal(value.size, "4");
    assert.equal(value.mtimeNs, "2500000000");
    const reading = extension.call("read", { id, length: 4, position: 0 });
    await extension.call("close", { id });
    assert.equal(textOf((await reading).bytes), "oneT", "what was under way ends before it is closed");
    assert.equal(
      (await extension.error("read", { id, length: 1, position: 0 })).message,
      "EBADF: bad file descriptor, read",
    );
    assert.equal(await extension.code("close", { id }), "EBADF");
  });

  test("no call gives more than it may carry, and a larger file is read by handle", async () => {
    await using extension = new Extension({ maxCallBytes: 10 });
    fs.writeFileSync(join(extension.work, "large"), "0123456789abc");
    const whole = await extension.call("readFile", { path: "large", flags: READ });
    assert.equal(whole.bytes, undefined);
    const { id } = whole.value;
    assert.equal((await extension.call("read", { id, length: 2 ** 40, position: null })).value, 10);
    assert.equal(textOf((await extension.call("read", { id, length: 100, position: null })).bytes), "abc");
    assert.equal((await extension.call("read", { id, length: 100, position: null })).value, 0);
  });

  test("too many open files are refused, and what was opened in vain is closed", async () => {
    await using extension = new Extension({ openFiles: 3 });
    const open = () => extension.call("open", { path: "f", ...{ flags: NEW_FILE.flags, mode: 0o666 } });
    await Promise.all([open(), open(), open()]);
    await assert.rejects(open(), { code: "EMFILE" });
  });

  test("folders are made, listed and removed", async () => {
    await using extension = new Extension();
    const { work } = extension;
    assert.equal(
      (await extension.call("mkdir", { path: "a/b/c", recursive: true, mode: 0o777 })).value,
      join(work, "a"),
    );
    assert.equal(
      (await extension.call("mkdir", { path: "a/b/c", recursive: true, mode: 0o777 })).value,
      undefined,
    );
    assert.equal(await extension.code("mkdir", { path: "a", recursive: false, mode: 0o777 }), "EEXIST");
    assert.equal(await extension.code("mkdir", { path: "x/y", recursive: false, mode: 0o777 }), "ENOENT");
    await extension.write("a/b/f", "");
    assert.equal(await extension.code("mkdir", { path: "a/b/f", recursive: true, mode: 0o777 }), "EEXIST");
    assert.equal(await extension.code("mkdir", { path: "a/b/f/g", recursive: true, mode: 0o777 }), "ENOTDIR");
    const list = async (recursive: boolean) =>
      (await extension.call("readdir", { path: "a", recursive, syscall: "scandir" })).value.sort();
    assert.deepEqual(await list(false), [["b", "dir", ""]]);
    assert.deepEqual(await list(true), [
      ["b", "dir", ""],
      ["c", "dir", "b"],
      ["f", "file", "b"],
    ]);
    assert.equal(await extension.code("rmdir", { path: "a" }), "ENOTEMPTY");
    assert.equal(await extension.code("rm", { path: "a", recursive: false, force: true }), "ERR_FS_EISDIR");
    await extension.call("rm", { path: "a", recursive: true, force: false });
    assert.equal(await extension.code("rm", { path: "a", recursive: true, force: false }), "ENOENT");
    await extension.call("rm", { path: "a", recursive: true, force: true });
    assert.deepEqual(fs.readdirSync(work), []);
  });

  test("a removed tree's links are removed, and nothing that they lead to", async () => {
    await using extension = new Extension();
    fs.mkdirSync(join(extension.work, "tree"));
    fs.writeFileSync(join(extension.secret, "kept"), "");
    fs.symlinkSync(extension.secret, join(extension.work, "tree", "link"));
    await extension.call("rm", { path: "tree", recursive: true, force: false });
    assert.deepEqual(fs.readdirSync(extension.secret), ["kept"]);
    assert.deepEqual(fs.readdirSync(extension.work), []);
  });

  test("temporary folders have new names and are the user's alone", async () => {
    await using extension = new Extension();
    const { value: one } = await extension.call("mkdtemp", { prefix: "t-" });
    const { value: two } = await extension.call("mkdtemp", { prefix: "t-" });
    assert.match(one, /^t-\w{6}$/);
    assert.notEqual(one, two);
    assert.equal(fs.statSync(join(extension.work, one)).mode & 0o777, 0o700);
  });

  test("names are given, changed and taken", async () => {
    await using extension = new Extension();
    await extension.write("f", "text");
    await extension.call("link", { path: "f", dest: "hard" });
    await extension.call("symlink", { target: "f", path: "soft", folder: false });
    assert.equal((await extension.call("readlink", { path: "soft" })).value, "f");
    assert.equal((await extension.call("realpath", { path: "soft" })).value, join(extension.work, "f"));
    assert.equal((await extension.call("stat", { path: "soft" })).value.nlink, "2");
    assert.equal((await extension.call("lstat", { path: "soft" })).value.mode & 0o170000, 0o120000);
    await extension.call("rename", { path: "hard", dest: "moved" });
    assert.equal(await extension.read("moved"), "text");
    for (const path of ["f", "moved", "soft"]) await extension.call("unlink", { path });
    assert.deepEqual(fs.readdirSync(extension.work), []);
    assert.equal(await extension.code("rename", { path: "f", dest: "g" }), "ENOENT");
  });

  test("modes and times are set, but no program is made that runs as the user for others", async () => {
    await using extension = new Extension();
    await extension.write("f", "");
    await extension.call("chmod", { path: "f", mode: 0o600 });
    await extension.call("utimes", { path: "f", atime: 10, mtime: 20 });
    const info = fs.statSync(join(extension.work, "f"));
    assert.deepEqual([info.mode & 0o7777, info.atimeMs, info.mtimeMs], [0o600, 10_000, 20_000]);
    assert.equal(await extension.code("chmod", { path: "f", mode: 0o4755 }), "EPERM");
    assert.equal(await extension.code("writeFile", { path: "g", ...NEW_FILE, mode: 0o2755 }), "EPERM");
  });

  test("errors read like Node's, with the paths as they were written", async () => {
    await using extension = new Extension();
    const none = "ENOENT: no such file or directory,";
    for (const [name, params, message] of [
      ["readFile", { path: "no/such", flags: READ }, `${none} open 'no/such'`],
      ["stat", { path: "./none" }, `${none} stat './none'`],
      ["readdir", { path: "none", recursive: false, syscall: "scandir" }, `${none} scandir 'none'`],
      ["rename", { path: "none", dest: "b" }, `${none} rename 'none' -> 'b'`],
      ["access", { path: "none", mode: 0 }, `${none} access 'none'`],
    ] as const) {
      const error = await extension.error(name, params);
      assert.equal(error.message, message);
      assert.deepEqual([error.code, error.details.errno], ["ENOENT", -constants.errno.ENOENT]);
    }
  });

  test("a separator at the end asks for a folder", async () => {
    await using extension = new Extension();
    await extension.write("f", "");
    assert.equal(await extension.code("readFile", { path: "f/", flags: READ }), "ENOTDIR");
    assert.equal(await extension.code("stat", { path: "f/" }), "ENOTDIR");
    assert.equal(await extension.code("unlink", { path: "f/" }), "ENOTDIR");
    assert.equal(await extension.code("writeFile", { path: "new/", ...NEW_FILE }), "EISDIR");
    assert.deepEqual(fs.readdirSync(extension.work), ["f"]);
  });

  test("the extension's own storage is there when it is first used", async () => {
    await using extension = new Extension();
    const { data } = extension.context.folders;
    await extension.write(join(data, "state.json"), "{}");
    assert.equal(await extension.read(join(data, "state.json")), "{}");
    assert.equal(fs.statSync(data).mode & 0o777, 0o700);
  });

  test("a recursive watch follows new folders, and tells nothing of those that may not be read", async () => {
    await using extension = new Extension();
    const { work, secret } = extension;
    fs.mkdirSync(join(work, "old/deep"), { recursive: true });
    fs.symlinkSync(secret, join(work, "link"));
    const { value: id } = await extension.call("watch", { path: ".", recursive: true });
    fs.writeFileSync(join(secret, "hidden"), "");
    fs.writeFileSync(join(work, "old/deep/file"), "");
    fs.mkdirSync(join(work, "new"));
    const seen = new Set<string>();
    while (!seen.has("old/deep/file") || !seen.has("new")) {
      for (const [, name] of (await extension.call("watchNext", { id })).value) seen.add(name);
    }
    fs.mkdirSync(join(work, "new/er"));
    while (!seen.has("new/er")) {
      for (const [, name] of (await extension.call("watchNext", { id })).value) seen.add(name);
    }
    fs.writeFileSync(join(work, "new/er/file"), "");
    while (!seen.has("new/er/file")) {
      for (const [, name] of (await extension.call("watchNext", { id })).value) seen.add(name);
    }
    assert.equal([...seen].filter((name) => /hidden|link/.test(name)).length, 0);
  });

  test("a watch gives what changed, and ends", async () => {
    await using extension = new Extension();
    const { value: id } = await extension.call("watch", { path: ".", recursive: false });
    const next = extension.call("watchNext", { id });
    fs.writeFileSync(join(extension.work, "new"), "");
    const { value: events } = await next;
    assert.equal(events[0][1], "new");
    assert.match(events[0][0], /^(rename|change)$/);
    const last = extension.call("watchNext", { id }).then(async (outcome) => {
      let { value } = outcome;
      while (value) ({ value } = await extension.call("watchNext", { id }));
      return value;
    });
    const ended = last.catch((error) => error.code);
    await extension.call("unwatch", { id });
    assert.ok([null, "EBADF"].includes(await ended));
    assert.equal(await extension.code("watchNext", { id }), "EBADF");
  });
});
