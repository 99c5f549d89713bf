import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError } from "../../../sandbox/broker/broker.ts";
import { bytesOf, Extension, NEW_FILE } from "./fs-support.ts";

const READ = { read: true };
const MODE = { mode: 0o666 };

/** One call of each operation on a path. */
function callsOn(path: string): [name: string, params: Record<string, unknown>][] {
  return [
    ["readFile", { path, flags: READ }],
    ["writeFile", { path, ...NEW_FILE }],
    ["writeFile", { path, ...NEW_FILE, flags: { write: true, create: true, exclusive: true } }],
    ["open", { path, flags: READ, ...MODE }],
    ["open", { path, flags: { read: true, folder: true }, ...MODE }],
    ["truncate", { path, length: 0 }],
    ["copyFile", { path, dest: "copy", exclusive: false }],
    ["copyFile", { path: "own", dest: path, exclusive: false }],
    ["stat", { path }],
    ["lstat", { path }],
    ["access", { path, mode: 0 }],
    ["realpath", { path }],
    ["chmod", { path, mode: 0o777 }],
    ["utimes", { path, atime: 1, mtime: 1 }],
    ["lutimes", { path, atime: 1, mtime: 1 }],
    ["statfs", { path }],
    ["readdir", { path, recursive: true, syscall: "scandir" }],
    ["mkdir", { path, recursive: false, mode: 0o777 }],
    ["mkdir", { path, recursive: true, mode: 0o777 }],
    ["mkdtemp", { prefix: path }],
    ["rm", { path, recursive: true, force: true }],
    ["rmdir", { path }],
    ["unlink", { path }],
    ["rename", { path, dest: "moved" }],
    ["rename", { path: "own", dest: path }],
    ["link", { path, dest: "hard" }],
    ["link", { path: "own", dest: path }],
    ["symlink", { target: path, path: "soft", folder: false }],
    ["symlink", { target: "own", path, folder: false }],
    ["readlink", { path }],
    ["watch", { path, recursive: true }],
  ];
}

describe("files that an extension may not reach", () => {
  test("every operation is refused, in the same words whether there is something or not", async () => {
    await using extension = new Extension();
    const { secret } = extension;
    await extension.write("own", "own");
    fs.writeFileSync(join(secret, "file"), "secret");
    fs.mkdirSync(join(secret, "folder"));
    fs.symlinkSync("/", join(secret, "link"));
    fs.symlinkSync("loop", join(secret, "loop"));
    const names = ["file", "folder", "link", "loop", "none", "none/below", "file/below"];
    const before = fs.readdirSync(secret).sort();
    const expected = callsOn("PATH");
    for (const name of names) {
      const path = join(secret, name);
      for (const [index, [operation, params]] of callsOn(path).entries()) {
        const { code, message, details } = await extension.error(operation, params);
        assert.equal(code, "EACCES", `${operation} ${name}`);
        const told = (text: string) => text.replaceAll(path, "PATH").replace(/PATH\w{6}/g, "PATH");
        const shown = told(message) + told(JSON.stringify(details));
        const last = expected[index] as [string, Record<string, unknown> & { shown?: string }];
        last[1].shown ??= shown;
        assert.equal(shown, last[1].shown, `${operation} ${name}`);
      }
    }
    assert.deepEqual(fs.readdirSync(secret).sort(), before);
    assert.equal(fs.readFileSync(join(secret, "file"), "utf8"), "secret");
    assert.deepEqual(fs.readdirSync(extension.work), ["own"]);
  });

  test("what may be read can't be changed", async () => {
    await using extension = new Extension();
    await extension.write("own", "own");
    const path = join(extension.seen, "file");
    fs.writeFileSync(path, "seen");
    assert.equal(await extension.read(path), "seen");
    for (const [name, params] of callsOn(path)) {
      if (
        [
          "readFile",
          "stat",
          "lstat",
          "access",
          "realpath",
          "statfs",
          "readdir",
          "readlink",
          "watch",
        ].includes(name)
      )
        continue;
      if (name === "open" || (name === "copyFile" && params.path === path)) continue;
      assert.equal(await extension.code(name, params), "EACCES", name);
    }
    assert.deepEqual([fs.readFileSync(path, "utf8"), fs.readdirSync(extension.seen)], ["seen", ["file"]]);
  });

  test("no way of writing a path leads there", async () => {
    await using extension = new Extension();
    const { secret, work } = extension;
    fs.writeFileSync(join(secret, "file"), "secret");
    fs.symlinkSync(secret, join(work, "dir"));
    fs.symlinkSync(join(secret, "file"), join(work, "ln"));
    fs.symlinkSync(join(secret, "new"), join(work, "dangling"));
    for (const path of [
      "../secret/file",
      "x/../../secret/file",
      `${work}/../secret/file`,
      `${work}//..//secret//file`,
      `${work}/./../secret/./file`,
      "dir/file",
      "dir/../../secret/file",
      "ln",
      "ln/",
      "dangling",
      `/proc/self/root${secret}/file`,
      `/proc/self/cwd/../../../../../../../..${secret}/file`,
      `/proc/${process.pid}/environ`,
      "/proc/self/environ",
      "/proc/thread-self/environ",
      "/proc/self/fd/0",
      "/dev/stdin",
      "/dev/fd/0",
      "/dev/tty",
      "/dev/mem",
    ]) {
      assert.equal(await extension.code("readFile", { path, flags: READ }), "EACCES", path);
      assert.equal(await extension.code("writeFile", { path, ...NEW_FILE }), "EACCES", path);
    }
    assert.equal(await extension.code("stat", { path: "a\0/../../secret/file" }), "ERR_INVALID_ARG_VALUE");
    assert.equal(await extension.code("stat", { path: "" }), "ENOENT");
    assert.equal(await extension.code("stat", { path: "x/".repeat(3000) }), "ENAMETOOLONG");
    assert.deepEqual(fs.readdirSync(secret), ["file"]);
  });

  test("devices that never end or block are no files", async () => {
    await using extension = new Extension();
    await extension.call("writeFile", { path: "/dev/null", ...NEW_FILE }, bytesOf("x"));
    const { value, bytes } = await extension.call("readFile", { path: "/dev/zero", flags: READ });
    assert.deepEqual(
      [bytes, (await extension.call("read", { id: value.id, length: 5, position: null })).value],
      [undefined, 5],
    );
    assert.equal(
      await extension.code("copyFile", { path: "/dev/zero", dest: "z", exclusive: false }),
      "EINVAL",
    );
  });

  test("the data dir's files are not reached, nor moved to where they could be", async () => {
    await using extension = new Extension();
    const { dataDir, work } = extension;
    fs.writeFileSync(join(dataDir, "credentials"), "key");
    fs.mkdirSync(join(work, "nested"));
    (extension.context.folders as { dataDir: string }).dataDir = join(work, "nested", "agent");
    fs.mkdirSync(extension.context.folders.dataDir);
    for (const path of ["nested", "nested/agent", "../work/nested/"]) {
      for (const name of ["rename", "rm", "rmdir"]) {
        const params =
          name === "rename"
            ? { path, dest: "x" }
            : name === "rm"
              ? { path, recursive: true, force: true }
              : { path };
        assert.equal(await extension.code(name, params), "EACCES", `${name} ${path}`);
      }
    }
    assert.equal(await extension.code("rm", { path: ".", recursive: true, force: true }), "EACCES");
  });

  test("a hard link of a secret of the data dir is not opened", async () => {
    await using extension = new Extension();
    fs.writeFileSync(join(extension.dataDir, "credentials"), "key");
    fs.linkSync(join(extension.dataDir, "credentials"), join(extension.work, "innocent"));
    fs.writeFileSync(join(extension.work, "a"), "a");
    fs.linkSync(join(extension.work, "a"), join(extension.work, "b"));
    assert.equal(await extension.read("b"), "a");
    for (const [name, params] of [
      ["readFile", { path: "innocent", flags: READ }],
      ["open", { path: "innocent", flags: READ, ...MODE }],
      ["writeFile", { path: "innocent", ...NEW_FILE }],
      ["copyFile", { path: "innocent", dest: "c", exclusive: false }],
      ["copyFile", { path: "a", dest: "innocent", exclusive: false }],
      ["truncate", { path: "innocent", length: 0 }],
      ["chmod", { path: "innocent", mode: 0o777 }],
      ["link", { path: "innocent", dest: "d" }],
    ] as const) {
      assert.equal(await extension.code(name, params), "EACCES", name);
    }
    assert.equal(fs.readFileSync(join(extension.dataDir, "credentials"), "utf8"), "key");
  });

  test("what the rights keep from it is not moved with a folder around it", async () => {
    await using extension = new Extension();
    const { work, context } = extension;
    fs.mkdirSync(join(work, "a/kept"), { recursive: true });
    context.rights.keepsBelow = (path) => path === work || path === join(work, "a");
    assert.equal(await extension.code("rename", { path: "a", dest: "b" }), "EACCES");
    assert.equal(await extension.code("rm", { path: "a", recursive: true, force: true }), "EACCES");
    await extension.call("rename", { path: "a/kept", dest: "b" });
  });

  test("nothing outside of its storage has a second name in it, which would stay the extension's", async () => {
    await using extension = new Extension();
    const { work, context } = extension;
    const { data } = context.folders;
    await extension.call("mkdir", { path: data, recursive: true, mode: 0o700 });
    await extension.write("f", "f");
    await extension.write(join(data, "own"), "own");
    assert.equal(await extension.code("link", { path: "f", dest: join(data, "f") }), "EXDEV");
    assert.equal(await extension.code("link", { path: join(data, "own"), dest: "own" }), "EXDEV");
    await extension.call("link", { path: "f", dest: "g" });
    assert.equal(await extension.code("rename", { path: "g", dest: join(data, "g") }), "EXDEV");
    await extension.call("mkdir", { path: "d", recursive: false, mode: 0o700 });
    await extension.call("rename", { path: "g", dest: "d/g" });
    assert.equal(await extension.code("rename", { path: "d", dest: join(data, "d") }), "EXDEV");
    await extension.call("link", { path: join(data, "own"), dest: join(data, "other") });
    assert.equal(await extension.code("rename", { path: join(data, "other"), dest: "o" }), "EXDEV");
    assert.deepEqual(fs.readdirSync(data).sort(), ["other", "own"]);
    assert.deepEqual(fs.readdirSync(work).sort(), ["d", "f"]);
    await extension.call("unlink", { path: "f" });
    await extension.call("rename", { path: "d/g", dest: join(data, "g") });
  });

  test("links lead only where the extension may write, also after they were moved", async () => {
    await using extension = new Extension();
    const { work, seen } = extension;
    for (const target of [seen, "/etc/passwd", "../seen/x", "/proc/self/environ", "a/../../secret"]) {
      assert.equal(await extension.code("symlink", { target, path: "l", folder: false }), "EACCES", target);
    }
    await extension.call("mkdir", { path: "a/b", recursive: true, mode: 0o777 });
    await extension.call("symlink", { target: "../../f", path: "a/b/l", folder: false });
    await extension.call("rename", { path: "a/b", dest: "b" });
    await extension.write("b/l", "through the link");
    assert.equal(fs.readFileSync(join(work, "f"), "utf8"), "through the link");
    // One that others have made.
    fs.symlinkSync("../../secret", join(work, "a", "up"));
    fs.symlinkSync("../secret", join(work, "a", "own"));
    assert.equal(await extension.code("rename", { path: "a/own", dest: "own" }), "EACCES");
    assert.equal(fs.existsSync(join(work, "own")), false);
    assert.equal(await extension.code("link", { path: "a/up", dest: "hard" }), "EACCES");
  });

  test("a listing of a tree leaves out what is in folders that may not be read", async () => {
    await using extension = new Extension();
    fs.symlinkSync(extension.secret, join(extension.work, "link"));
    fs.writeFileSync(join(extension.secret, "file"), "");
    fs.mkdirSync(join(extension.work, "sub"));
    const { value } = await extension.call("readdir", { path: ".", recursive: true, syscall: "scandir" });
    assert.deepEqual(value.sort(), [
      ["link", "link", ""],
      ["sub", "dir", ""],
    ]);
  });

  test("a FIFO blocks nothing", { skip: process.platform === "win32" }, async () => {
    await using extension = new Extension();
    const made = spawn("mkfifo", [join(extension.work, "fifo")]);
    await new Promise((resolve) => made.on("exit", resolve));
    assert.equal(await extension.code("readFile", { path: "fifo", flags: READ }), "EACCES");
    assert.equal(await extension.code("writeFile", { path: "fifo", ...NEW_FILE }), "EACCES");
    await extension.call("stat", { path: "fifo" });
    await extension.call("unlink", { path: "fifo" });
  });

  test("a program that swaps folders and links all the time opens no way out", async () => {
    await using extension = new Extension();
    const { work, secret } = extension;
    fs.writeFileSync(join(secret, "file"), "secret");
    const program = fileURLToPath(new URL("../../fixtures/swap-links.mjs", import.meta.url));
    const run = "Deno" in globalThis ? ["run", "--allow-all", program] : [program];
    const swapper = spawn(process.execPath, [...run, work, secret], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = new Promise((resolve) => swapper.on("exit", resolve));
    try {
      await new Promise((resolve) => swapper.stdout.once("data", resolve));
      const counts = { own: 0, refused: 0 };
      const until = Date.now() + 2500;
      while (Date.now() < until) {
        const results = await Promise.allSettled([
          extension.read("dir/file"),
          extension.read("file"),
          extension.write("dir/new", "x"),
          extension.call(
            "writeFile",
            { path: "file", flags: { write: true, append: true }, mode: 0o666, flush: false },
            bytesOf("own"),
          ),
          extension.call("mkdir", { path: "dir/made", recursive: true, mode: 0o777 }),
          extension.call("rename", { path: "dir/new", dest: "dir/newer" }),
          extension.call("copyFile", { path: "dir/file", dest: "copy", exclusive: false }),
          extension.call("rm", { path: "dir/newer", recursive: true, force: true }),
          extension
            .call("link", { path: "dir/file", dest: "hard" })
            .then(() => extension.call("unlink", { path: "hard" })),
          extension.call("chmod", { path: "dir/file", mode: 0o640 }),
        ]);
        for (const [index, result] of results.entries()) {
          if (result.status === "rejected") {
            if (result.reason.code === "EACCES") counts.refused++;
            assert.match(String(result.reason.code), /^E[A-Z]+$/, String(result.reason?.stack));
          } else if (index < 2) {
            counts.own++;
            assert.match(result.value as string, /^(own)*$/);
          }
        }
      }
      assert.deepEqual(fs.readdirSync(secret), ["file"]);
      assert.equal(fs.readFileSync(join(secret, "file"), "utf8"), "secret");
      assert.equal(fs.statSync(join(secret, "file")).mode & 0o777, 0o644);
      assert.equal(fs.statSync(join(secret, "file")).nlink, 1);
      if (fs.existsSync(join(work, "copy"))) {
        assert.match(fs.readFileSync(join(work, "copy"), "utf8"), /^(own)*$/);
      }
      assert.ok(counts.own > 0 && counts.refused > 0, JSON.stringify(counts));
    } finally {
      swapper.stdin.end();
      await exited;
    }
  });
});

describe("what the kernel calls by the path of another file", () => {
  const UNSHARE = ["unshare", "-rm", "sh", "-c"];
  const canMount = spawnSync(UNSHARE[0]!, [...UNSHARE.slice(1), "mount -t tmpfs none /mnt"]).status === 0;

  test("a file of another mount namespace, behind a link to /proc, is not the one that was granted", {
    skip: canMount ? false : "needs a mount namespace",
  }, async () => {
    await using extension = new Extension();
    const { work } = extension;
    await extension.write("ours", "ours");
    fs.symlinkSync("/proc", join(work, "p"));
    const make = `mount -t tmpfs none ${work} && echo theirs > ${work}/theirs && echo theirs > ${work}/ours && echo ready && exec sleep 600`;
    const other = spawn(UNSHARE[0]!, [...UNSHARE.slice(1), make], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await new Promise((resolve) => other.stdout.once("data", resolve));
      const at = (name: string) => `p/${other.pid}/root${work}/${name}`;
      for (const [operation, params] of [
        ["stat", { path: at("theirs") }],
        ["lstat", { path: at("theirs") }],
        ["access", { path: at("theirs"), mode: 0 }],
        ["realpath", { path: at("theirs") }],
        ["readFile", { path: at("theirs"), flags: READ }],
        ["open", { path: at("theirs"), flags: READ, ...MODE }],
        ["truncate", { path: at("theirs"), length: 0 }],
        ["chmod", { path: at("theirs"), mode: 0o600 }],
      ] as const) {
        assert.equal((await extension.error(operation, params)).code, "ENOENT", operation);
      }
      assert.equal(
        Buffer.from((await extension.call("readFile", { path: at("ours"), flags: READ })).bytes!).toString(),
        "ours",
      );
      await extension.call("writeFile", { path: at("theirs"), ...NEW_FILE }, bytesOf("by the extension"));
      assert.equal(fs.readFileSync(`/proc/${other.pid}/root${work}/theirs`, "utf8"), "theirs\n");
    } finally {
      other.kill("SIGKILL");
    }
  });

  test("a name that is no text, behind a link, is not the one that reads like it", async () => {
    await using extension = new Extension();
    const { secret, work } = extension;
    // By a shell: not every runtime makes such names.
    const make = 'd=$(printf "%s/caf\\351" "$1"); mkdir "$d"; echo not granted > "$d/f"; ln -s "$d" "$2"';
    assert.equal(spawnSync("sh", ["-c", make, "sh", secret, join(work, "link")]).status, 0);
    // What is granted is the folder whose name really has that character.
    const has = (request: { path?: string }) => request.path?.startsWith(`${secret}/caf\ufffd`) === true;
    const demand = async (request: { path?: string }) => {
      if (!has(request)) throw new CallError("EACCES", "EACCES: permission denied");
    };
    Object.assign(extension.context, { rights: { has, demand } });
    await extension.error("readFile", { path: "link/f", flags: READ });
  });
});

describe("the harmless devices", () => {
  test("are read and written, and neither changed, moved nor removed: who runs as root would do so for everybody", async () => {
    await using extension = new Extension();
    await extension.write("own", "own");
    const device = "/dev/full";
    // Whatever is granted.
    Object.assign(extension.context, { rights: { has: () => true, demand: async () => {} } });
    const before = fs.statSync(device);
    const [atime, mtime] = [before.atimeMs / 1000, before.mtimeMs / 1000];
    // What is tried changes nothing if it is let through, as far as that can be.
    const mode = before.mode & 0o777;
    for (const [operation, params] of [
      ["chmod", { path: device, mode }],
      ["utimes", { path: device, atime, mtime }],
      ["lutimes", { path: device, atime, mtime }],
      ["unlink", { path: device }],
      ["rm", { path: device, recursive: true, force: true }],
      ["rename", { path: device, dest: "moved" }],
      ["rename", { path: "own", dest: device }],
      ["symlink", { target: "own", path: device, folder: false }],
      ["link", { path: device, dest: "hard" }],
      ["link", { path: "own", dest: device }],
    ] as const) {
      const { code } = await extension.error(operation, params);
      assert.ok(
        code === "EACCES" || (operation === "link" && /EPERM|EEXIST/.test(code)),
        `${operation}: ${code}`,
      );
    }
    const { value: id } = await extension.call("open", {
      path: "/dev/null",
      flags: { write: true },
      ...MODE,
    });
    assert.equal((await extension.error("fchmod", { id, mode: 0o666 })).code, "EACCES");
    assert.equal((await extension.error("futimes", { id, atime, mtime })).code, "EACCES");
    await extension.call("close", { id });
    assert.deepEqual([fs.statSync(device).mode, fs.statSync(device).mtimeMs], [before.mode, before.mtimeMs]);
  });
});
