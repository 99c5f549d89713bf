/** What a permission covers: that and nothing else. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Folders } from "../../../sandbox/broker/broker.ts";
import { floorVerdict, guardedRoots, hardLinkGuard, linksTo } from "../../../sandbox/permissions/floor.ts";
import { isWellFormed, Matcher, permissionFor } from "../../../sandbox/permissions/match.ts";
import { findProgram } from "../../../sandbox/permissions/match-run.ts";
import type { Permissions } from "../../../sandbox/permissions/permissions.ts";
import type { Request } from "../../../sandbox/permissions/request.ts";
import { parseValue } from "../../../sandbox/permissions/values.ts";
import { Folder } from "../../support/folder.ts";

/** A home with a project and a data dir; nothing is made. */
function foldersIn(folder: Folder): Folders {
  const home = join(folder.path, "home");
  const dataDir = join(home, ".xdev/agent");
  return {
    home,
    cwd: join(home, "work"),
    tmp: join(folder.path, "tmp"),
    dataDir,
    data: join(dataDir, "storage/foo"),
  };
}

const SOMEWHERE: Folders = {
  home: "/home/u",
  cwd: "/home/u/work",
  tmp: "/tmp",
  dataDir: "/home/u/.xdev/agent",
  data: "/home/u/.xdev/agent/storage/foo",
};

const matcher = (permissions: Permissions, folders = SOMEWHERE, searchPath = "") =>
  Matcher.ofGrants(permissions, { folders, searchPath });
const denial = (permissions: Permissions) =>
  Matcher.ofDenials(permissions, { folders: SOMEWHERE, searchPath: "" });
const net = (host: string, port = 443): Request => ({ kind: "net", host, port });
const address = (host: string, at: string, port = 443): Request => ({
  kind: "net-address",
  host,
  address: at,
  port,
});

describe("a path", () => {
  test("is covered with everything below it, and by its own kind only", async () => {
    const some = await matcher({ read: ["$CWD/src", "$TMP/a"], write: ["$HOME/out"] });
    for (const path of ["/home/u/work/src", "/home/u/work/src/a/b", "/tmp/a", "/tmp/a/..b"]) {
      assert.ok(some.covers({ kind: "read", path }), path);
      assert.ok(!some.covers({ kind: "write", path }), path);
    }
    for (const path of [
      "/home/u/work",
      "/home/u/work/srcs",
      "/home/u/work/src2/a",
      "/",
      "/tmp",
      "/home/u/out",
    ]) {
      assert.ok(!some.covers({ kind: "read", path }), path);
    }
    assert.ok(some.covers({ kind: "write", path: "/home/u/out/x" }));
  });

  test("is never covered by one that lies beside it", async () => {
    const segment = fc.stringMatching(/^[a-z.~ -]{1,5}$/).filter((text) => !/^\.{1,2}$/.test(text));
    const path = fc.array(segment, { maxLength: 4 }).map((parts) => ["/nonexistent", ...parts].join("/"));
    await fc.assert(
      fc.asyncProperty(path, path, async (granted, asked) => {
        const covers = (await matcher({ read: [granted] }, { ...SOMEWHERE, cwd: "/x", tmp: "/y" })).covers({
          kind: "read",
          path: asked,
        });
        const isBelow = asked === granted || asked.startsWith(`${granted}/`);
        assert.equal(covers, isBelow);
      }),
    );
  });

  test("behind a link of the user means the link's target, for the whole session", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    folder.file("disk/a", "");
    folder.file("other/a", "");
    mkdirSync(folders.cwd, { recursive: true });
    symlinkSync(join(folder.path, "disk"), join(folders.home, "proj"));
    const some = await matcher({ read: ["$HOME/proj"] }, folders);
    rmSync(join(folders.home, "proj"));
    symlinkSync(join(folder.path, "other"), join(folders.home, "proj"));
    assert.ok(some.covers({ kind: "read", path: join(folder.path, "disk/a") }));
    assert.ok(!some.covers({ kind: "read", path: join(folder.path, "other/a") }));
  });

  test("means nothing behind a link by which a repository or the extension itself leads elsewhere", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const secret = folder.file("home/.ssh/id", "");
    mkdirSync(folders.cwd, { recursive: true });
    mkdirSync(folders.tmp);
    for (const place of [folders.cwd, folders.tmp, join(folders.home, "out")]) {
      mkdirSync(place, { recursive: true });
      symlinkSync(join(folders.home, ".ssh"), join(place, "build"));
    }
    const covers = async (permissions: Permissions) =>
      (await matcher(permissions, folders)).covers({ kind: "read", path: secret });
    assert.ok(!(await covers({ read: ["$CWD/build"] })));
    assert.ok(!(await covers({ read: [join(folders.cwd, "build")] })), "however the path is written");
    assert.ok(!(await covers({ read: ["$TMP/build"] })));
    assert.ok(await covers({ read: ["$HOME/out/build"] }), "the user's own link");
    assert.ok(!(await covers({ read: ["$HOME/out/build"], write: ["$HOME/out"] })), "may be the extension's");
    assert.ok(!(await covers({ read: ["$HOME/out/build"], write: ["*"] })), "may be the extension's");
  });

  test("means nothing behind a link out of another that contains it, since nobody is asked about it then", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const secret = folder.file("home/.ssh/id", "");
    const inside = folder.file("home/proj/real/x", "");
    mkdirSync(folders.cwd, { recursive: true });
    symlinkSync("../.ssh", join(folders.home, "proj/docs"));
    symlinkSync("real", join(folders.home, "proj/alias"));
    const some = await matcher({ read: ["$HOME/proj", "$HOME/proj/docs", "$HOME/proj/alias"] }, folders);
    assert.ok(!some.covers({ kind: "read", path: secret }));
    assert.ok(some.covers({ kind: "read", path: inside }));
    assert.ok((await matcher({ read: ["$HOME/proj/docs"] }, folders)).covers({ kind: "read", path: secret }));
  });

  test("that is absolute means nothing when a link has taken its place since it was granted", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const secret = folder.file("home/.ssh/id", "");
    mkdirSync(join(folder.path, "other"));
    const granted = join(folder.path, "other/build");
    symlinkSync(join(folders.home, ".ssh"), granted);
    assert.ok(!(await matcher({ read: [granted] }, folders)).covers({ kind: "read", path: secret }));
  });

  test("that is denied is denied as it is written and where it leads", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const secret = folder.file("home/.ssh/id", "");
    mkdirSync(folders.cwd, { recursive: true });
    symlinkSync(join(folders.home, ".ssh"), join(folders.cwd, "keys"));
    const never = await Matcher.ofDenials({ read: ["$CWD/keys"] }, { folders, searchPath: "" });
    assert.ok(never.covers({ kind: "read", path: secret }));
    assert.ok(never.covers({ kind: "read", path: join(folders.cwd, "keys/id") }));
  });
});

describe("what no grant can lift", () => {
  test("is the data dir, in any case and form, but for the extension's own storage", () => {
    for (const path of [
      "/home/u/.xdev/agent",
      "/home/u/.xdev/agent/permissions.json",
      "/home/u/.xdev/agent/storage",
      "/home/u/.xdev/agent/storage/bar",
      "/home/u/.xdev/agent/storage/foo2",
      "/home/u/.xdev/agent/storage/FOO/x",
      "/home/u/.xdev/agent/storage/foo./x",
      "/home/u/.XDEV/Agent/trust.json",
      "/home/u/.xdev/agent./trust.json",
      "/home/u/.xdev /agent/trust.json",
      "/home/u/.xdev/ag\u0065nt/sessions/1",
      "/home/u/.xdev/\uff41gent/trust.json",
    ]) {
      for (const access of ["read", "write"] as const)
        assert.equal(floorVerdict(path, access, SOMEWHERE), "refused", path);
    }
    for (const path of ["/home/u/.xdev/agent/storage/foo", "/home/u/.xdev/agent/storage/foo/a/b"]) {
      assert.equal(floorVerdict(path, "write", SOMEWHERE), "granted", path);
    }
    const own = { ...SOMEWHERE, own: `${SOMEWHERE.dataDir}/extensions/notes` };
    assert.equal(floorVerdict(`${own.own}/template.md`, "read", own), "granted");
    assert.equal(floorVerdict(`${own.own}/template.md`, "write", own), "refused");
    assert.equal(floorVerdict(`${own.dataDir}/extensions/other/index.ts`, "read", own), "refused");
    assert.equal(floorVerdict(`${own.dataDir}/extensions/notes2`, "read", own), "refused");
    assert.equal(floorVerdict("/home/u/.xdev/agents", "read", SOMEWHERE), "open");
    assert.equal(floorVerdict("/home/u/.xdev", "read", SOMEWHERE), "open");
  });

  test("is /proc, /sys and /dev, but for four devices, and never a terminal", () => {
    for (const path of [
      "/proc",
      "/proc/self/environ",
      "/proc/1/root/etc",
      "/sys/kernel",
      "/dev/tty",
      "/dev/sda",
      "/dev/fd/3",
      "/dev/stdin",
      "/dev/pts/0",
      "/dev/shm/x",
      "/PROC/self",
      "/.vol/1/2",
      "/dev/null/..",
    ]) {
      assert.equal(floorVerdict(path, "read", SOMEWHERE), "refused", path);
    }
    for (const path of ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"])
      assert.equal(floorVerdict(path, "read", SOMEWHERE), "granted", path);
    assert.equal(floorVerdict("/dev/null", "write", SOMEWHERE), "granted");
    assert.equal(floorVerdict("/dev/urandom", "write", SOMEWHERE), "refused");
    assert.equal(floorVerdict("/process", "read", SOMEWHERE), "open");
  });

  test("is what links of the data dir lead to, storage but the extension's own included", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const session = folder.file("disk/sessions/1.jsonl", "");
    const settings = folder.file("dotfiles/models.yml", "");
    mkdirSync(folders.dataDir, { recursive: true });
    symlinkSync(join(folder.path, "disk/sessions"), join(folders.dataDir, "sessions"));
    symlinkSync(settings, join(folders.dataDir, "models.yml"));
    const guarded = await guardedRoots(folders.dataDir);
    for (const path of [session, settings])
      assert.equal(floorVerdict(path, "read", folders, guarded), "refused");
    assert.equal(floorVerdict(join(folder.path, "dotfiles/other"), "read", folders, guarded), "open");
    linkSync(session, join(folders.home, "session"));
    linkSync(settings, join(folders.home, "settings"));
    for (const path of [session, settings]) assert.equal(await hardLinkGuard(folders)(statSync(path)), true);
  });

  test("is each link by which the data dir is named, and what leads through none is not", async () => {
    using folder = new Folder();
    const dataDir = folder.file("disk/xdev/agent/x", "").slice(0, -2);
    mkdirSync(join(folder.path, "home"));
    symlinkSync("../disk", join(folder.path, "home/dots"));
    symlinkSync("dots/xdev", join(folder.path, "home/.xdev"));
    assert.deepEqual(await linksTo(join(folder.path, "home/.xdev/agent")), [
      join(folder.path, "home/.xdev"),
      join(folder.path, "home/dots"),
    ]);
    assert.deepEqual(await linksTo(dataDir), []);
    symlinkSync("loop", join(folder.path, "loop"));
    assert.equal((await linksTo(join(folder.path, "loop/x"))).length, 40);
  });

  test("is a path that is none: relative, with a zero character, going up", () => {
    for (const path of ["a", "", "/a\0b", "/a/../b", "/a/./b"])
      assert.equal(floorVerdict(path, "read", SOMEWHERE), "refused", path);
  });

  test("is a file of the data dir under another name, and another's storage, too", async () => {
    using folder = new Folder();
    const folders = foldersIn(folder);
    const [trust, bar, own, plain] = ["trust.json", "storage/bar/x", "storage/foo/x", "../../work/plain"].map(
      (name) => folder.file(`home/.xdev/agent/${name}`, name),
    );
    const isOurs = hardLinkGuard(folders);
    for (const [file, expected] of [
      [trust!, true],
      [bar!, true],
      [own!, false],
      [plain!, false],
    ] as const) {
      assert.equal(await hardLinkGuard(folders)(statSync(file)), false, "with one name it is judged by that");
      linkSync(
        file,
        `${file}.link`
          .replace(folders.dataDir, folders.home)
          .replaceAll("storage/", "")
          .replace(/\/(foo|bar)\/x/, "/$1-x"),
      );
      assert.equal(await hardLinkGuard(folders)(statSync(file)), expected, file);
    }
    assert.equal(await isOurs(statSync(trust!)), true);
  });
});

describe("a host", () => {
  test("is covered by its name, at every port or at one", async () => {
    const some = await matcher({ net: ["api.example.com", "b.example.com:8080"] });
    assert.ok(some.covers(net("api.example.com", 1)));
    assert.ok(some.covers(net("b.example.com", 8080)));
    for (const request of [
      net("b.example.com"),
      net("example.com"),
      net("x.api.example.com"),
      net("api.example.com.evil.org"),
      net("evil-api.example.com"),
    ]) {
      assert.ok(!some.covers(request), JSON.stringify(request));
    }
  });

  test("below a suffix is covered, the suffix itself is not", async () => {
    const some = await matcher({ net: ["*.example.com"] });
    for (const host of ["a.example.com", "a.b.example.com"]) assert.ok(some.covers(net(host)), host);
    for (const host of ["example.com", ".example.com", "badexample.com", "a.example.com.evil.org", "1.2.3.4"])
      assert.ok(!some.covers(net(host)), host);
  });

  test("is covered by * if it is a public name", async () => {
    const all = await matcher({ net: ["*"] });
    assert.ok(all.covers(net("example.com")));
    for (const host of [
      "localhost",
      "printer.local",
      "metadata.google.internal",
      "intranet",
      "127.0.0.1",
      "8.8.8.8",
      "::1",
    ])
      assert.ok(!all.covers(net(host)), host);
  });

  test("that leads to an address that is not public needs that address named", async () => {
    const all = await matcher({ net: ["*", "*.example.com", "evil.example.com"] });
    assert.ok(!all.covers(address("evil.example.com", "169.254.169.254")));
    const named = await matcher({ net: ["10.0.0.1:80", "localhost", "[fd00::1]:443"] });
    assert.ok(named.covers(address("evil.example.com", "10.0.0.1", 80)));
    assert.ok(!named.covers(address("evil.example.com", "10.0.0.1", 81)));
    assert.ok(!named.covers(address("evil.example.com", "10.0.0.2", 80)));
    assert.ok(named.covers(address("localhost", "127.0.0.1", 3000)));
    assert.ok(named.covers(address("localhost", "::1", 3000)));
    assert.ok(!named.covers(address("localhost", "10.0.0.2", 3000)));
    assert.ok(named.covers(address("x.example.com", "fd00::1")));
  });

  test("that is denied is denied with its address, and * is every one", async () => {
    const never = await denial({ net: ["*"] });
    for (const request of [net("localhost"), net("8.8.8.8"), address("a.b", "10.0.0.1")])
      assert.ok(never.covers(request));
  });

  test("in another form than its own is no request", () => {
    for (const host of ["EXAMPLE.com", "example.com.", "0x7f.1", "*", "*.a.com", "[::1]", "a b"])
      assert.ok(!isWellFormed(net(host)), host);
    assert.ok(!isWellFormed(net("a.com", 0)));
    assert.ok(!isWellFormed(address("a.com", "::ffff:127.0.0.1")));
  });
});

describe("a program", () => {
  /** Programs in `bin`, one of them many by links, and one that the project brings. */
  function programs(folder: Folder) {
    const folders = foldersIn(folder);
    const git = folder.program("bin/git", "#!/bin/sh\n");
    const busybox = folder.program("bin/busybox", "#!/bin/sh\n");
    for (const name of ["ls", "sh"]) symlinkSync(busybox, join(folder.path, "bin", name));
    folder.program("home/work/node_modules/.bin/git", "#!/bin/sh\n");
    folder.file("bin/text", "");
    const searchPath = `relative:${folders.cwd}/node_modules/.bin:${folder.path}/bin`;
    const run = (name: string, path: string, ...args: string[]): Request => ({
      kind: "run",
      name,
      path,
      args,
    });
    return { folders, git, busybox, searchPath, run };
  }

  test("is the one that PATH had when the rights were made, and never one of the project's", async () => {
    using folder = new Folder();
    const { folders, git, searchPath, run } = programs(folder);
    const some = await matcher({ run: ["git"] }, folders, searchPath);
    assert.ok(some.covers(run("git", git, "push", "--force")));
    assert.ok(!some.covers(run("git", join(folders.cwd, "node_modules/.bin/git"))));
    assert.ok(!some.covers(run("other", git)), "under another name");
    assert.equal(await findProgram("git", { folders, searchPath }), git);
    for (const name of ["text", "nothing", "./git", "bin/git", "", "g\0it", ".."]) {
      assert.equal(await findProgram(name, { folders, searchPath }), undefined, name);
    }
  });

  test("with arguments is covered with those in front", async () => {
    using folder = new Folder();
    const { folders, git, searchPath, run } = programs(folder);
    const some = await matcher({ run: ["git status", 'git log "--format=%h %s"'] }, folders, searchPath);
    assert.ok(some.covers(run("git", git, "status", "-s")));
    assert.ok(some.covers(run("git", git, "log", "--format=%h %s")));
    for (const args of [
      [],
      ["-c", "core.pager=x", "status"],
      ["push"],
      ["log", "--format=%h"],
      ["status -s"],
    ]) {
      assert.ok(!some.covers(run("git", git, ...args)), args.join(" "));
    }
  });

  test("of many names is covered under the one that was granted", async () => {
    using folder = new Folder();
    const { folders, busybox, searchPath, run } = programs(folder);
    const some = await matcher({ run: ["ls"] }, folders, searchPath);
    assert.ok(some.covers(run("ls", busybox, "-l")));
    for (const name of ["sh", "busybox", "/x/sh", "LS", "ls.exe"])
      assert.ok(!some.covers(run(name, busybox)), name);
  });

  test("is no shell, unless that was granted itself", async () => {
    using folder = new Folder();
    const { folders, git, busybox, searchPath, run } = programs(folder);
    const all = await matcher({ run: ["*"] }, folders, searchPath);
    assert.ok(all.covers(run("git", git)));
    const bash = folder.program("bin/bash", "");
    for (const [name, path] of [
      ["sh", busybox],
      ["bash", bash],
      ["x", bash],
      ["/usr/bin/zsh-5.9", git],
      ["BASH.exe", git],
      ["x", "/bin/dash"],
      ["x", "/usr/bin/bash5"],
      ["x", "/bin/busybox"],
    ] as const) {
      assert.ok(!all.covers(run(name, path)), `${name} ${path}`);
    }
    assert.ok((await matcher({ run: ["bash"] }, folders, searchPath)).covers(run("bash", bash, "-c", "x")));
  });

  test("that is denied is denied by its name and by its path", async () => {
    using folder = new Folder();
    const { folders, git, searchPath, run } = programs(folder);
    const never = await Matcher.ofDenials({ run: ["git"] }, { folders, searchPath });
    for (const request of [run("git", "/elsewhere/git"), run("x", git), run("/a/git", "/a/git")])
      assert.ok(never.covers(request));
    assert.ok(!never.covers(run("ls", "/bin/ls")));
  });
});

describe("the rest", () => {
  test("is covered by its name, by a beginning with *, or by *", async () => {
    const some = await matcher({
      env: ["FOO", "BAR_*"],
      sys: ["cpu"],
      session: ["write"],
      tools: ["bash"],
      model: ["*"],
    });
    const yes: Request[] = [
      { kind: "env", name: "FOO" },
      { kind: "env", name: "BAR_X" },
      { kind: "sys", what: "cpu" },
      { kind: "session", access: "write" },
      { kind: "tools", name: "bash" },
      { kind: "model" },
    ];
    const no: Request[] = [
      { kind: "env", name: "FOO2" },
      { kind: "env", name: "BAR" },
      { kind: "sys", what: "user" },
      { kind: "session", access: "read" },
      { kind: "tools", name: "read" },
      { kind: "provider" },
      { kind: "wasm" },
    ];
    for (const request of yes) assert.ok(some.covers(request), JSON.stringify(request));
    for (const request of no) assert.ok(!some.covers(request), JSON.stringify(request));
  });

  test("is no pattern when it is asked for, so that an answer for good grants no more than that", () => {
    for (const request of [
      { kind: "env", name: "FOO*" },
      { kind: "env", name: "*" },
      { kind: "tools", name: "*" },
      { kind: "read", path: "*" },
      { kind: "read", path: "$HOME" },
    ] as Request[]) {
      assert.ok(!isWellFormed(request), JSON.stringify(request));
    }
    assert.equal(permissionFor({ kind: "run", name: "*", path: "/x/star", args: [] }).value, "/x/star");
    assert.equal(
      permissionFor({ kind: "run", name: "git status", path: "/x/y z", args: [] }).value,
      '"/x/y z"',
    );
    assert.equal(parseValue("run", '"/x/y z"'), '"/x/y z"');
  });
});
