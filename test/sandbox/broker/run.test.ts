/** Programs that extensions run: real ones, and what is left of them afterwards. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FakeRights, type TestBroker, testBroker } from "../../support/broker.ts";
import { Folder } from "../../support/folder.ts";
import { gone, isRunning } from "../../support/processes.ts";

const SH = realpathSync("/bin/sh");

/** Everything but shells and writing. */
const noShell = () =>
  new FakeRights(
    (request) => request.kind === "run" && request.path !== SH && !request.path.endsWith("/bash"),
  );
const everything = () => new FakeRights((request) => request.kind !== "write");

const code = (expected: string, text?: RegExp) => (error: { code: string; message: string }) =>
  error.code === expected && (!text || text.test(error.message));

interface Ended {
  code: number | null;
  signal: string | null;
  problem: string | null;
  stdout: string;
  stderr: string;
}

async function sync(made: TestBroker, params: object, input?: string): Promise<Ended> {
  const bytes = input === undefined ? undefined : new TextEncoder().encode(input);
  const answer = await made.call("run.sync", { maxBuffer: 100_000, ...params }, bytes);
  const value = answer.value as Ended & { stdoutBytes: number };
  const text = Buffer.from(answer.bytes!);
  return {
    ...value,
    stdout: text.subarray(0, value.stdoutBytes).toString(),
    stderr: text.subarray(value.stdoutBytes).toString(),
  };
}

const sh = (script: string) => ({ what: { file: "/bin/sh", args: ["-c", script] } });

async function spawn(made: TestBroker, params: object): Promise<{ id: number; pid: number }> {
  return (await made.call("run.spawn", params)).value as never;
}

async function readAll(made: TestBroker, id: number, stream = "stdout"): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const { bytes } = await made.call("run.read", { id, stream });
    if (!bytes) return Buffer.concat(chunks).toString();
    chunks.push(bytes);
  }
}

/** Waits for a line that a program writes at its start. */
async function firstLine(made: TestBroker, id: number): Promise<string> {
  return Buffer.from((await made.call("run.read", { id, stream: "stdout" })).bytes!)
    .toString()
    .trim();
}

describe("a program", () => {
  test("is asked about by its name, canonical path and arguments, and runs", async () => {
    using folder = new Folder();
    const real = folder.program("real/tool", '#!/bin/sh\necho "$0 $1"');
    symlinkSync(real, join(folder.path, "tool"));
    await using made = testBroker(folder.path, { rights: noShell() });
    const ended = await sync(made, { what: { file: "./tool", args: ["a b"] } });
    assert.deepEqual(made.rights.asked, [{ kind: "run", name: "./tool", path: real, args: ["a b"] }]);
    assert.equal(ended.stdout, `${real} a b\n`);
    assert.deepEqual([ended.code, ended.signal, ended.problem], [0, null, null]);
  });

  test("that is not granted does not run", async () => {
    using folder = new Folder();
    folder.program("tool", "#!/bin/sh\ntouch ran");
    await using made = testBroker(folder.path, { rights: new FakeRights(() => false) });
    await assert.rejects(sync(made, { what: { file: "./tool" } }), code("EACCES"));
    await assert.rejects(spawn(made, { what: { file: "./tool" } }), code("EACCES"));
    assert.throws(() => readFileSync(join(folder.path, "ran")));
  });

  test("is found along the user's PATH, never in the working folder or in what the extension says PATH is", async () => {
    using folder = new Folder();
    using programs = new Folder();
    programs.program("found", "#!/bin/sh\necho right");
    folder.program("bin/found", "#!/bin/sh\necho wrong");
    folder.program("found", "#!/bin/sh\necho wrong");
    folder.program("other/found", "#!/bin/sh\necho wrong");
    const env = { PATH: `.::${folder.path}/bin:${programs.path}:/usr/bin:/bin` };
    await using made = testBroker(folder.path, { rights: noShell(), env });
    const own = { env: { PATH: `${folder.path}/other` } };
    assert.equal((await sync(made, { what: { file: "found" }, ...own })).stdout, "right\n");
    await assert.rejects(
      sync(made, { what: { file: "not-there" } }),
      code("ENOENT", /^spawn not-there ENOENT$/),
    );
  });

  test("that is a link to one of many in one file is told its name, unless the extension could have made the link", async () => {
    using folder = new Folder();
    using programs = new Folder();
    // A shell says as `$0` what it was started as.
    symlinkSync(SH, join(programs.path, "many"));
    symlinkSync(SH, join(folder.path, "many"));
    symlinkSync(SH, join(folder.path, "users"));
    const env = { PATH: `${programs.path}:/usr/bin:/bin` };
    const rights = new FakeRights((request) =>
      request.kind === "write"
        ? request.path === join(folder.path, "many")
        : request.kind === "run" && request.name !== "sh",
    );
    await using made = testBroker(folder.path, { rights, env });
    const startedAs = async (file: string) =>
      (await sync(made, { what: { file, args: ["-c", "echo $0"] } })).stdout.trim();
    assert.equal(await startedAs("many"), "many");
    assert.equal(await startedAs("./users"), join(folder.path, "users"));
    assert.equal(await startedAs("./many"), SH);
  });

  test("that the extension may write itself is refused, also behind a link, and in PATH passed over", async () => {
    using folder = new Folder();
    folder.program("own/git", "#!/bin/sh\necho mine");
    symlinkSync(join(folder.path, "own/git"), join(folder.path, "git"));
    const rights = new FakeRights((request) =>
      request.kind === "write"
        ? `${request.path}/`.startsWith(`${folder.path}/own/`)
        : request.kind === "run" && request.path !== SH,
    );
    const env = { PATH: `${folder.path}/own:/usr/bin:/bin` };
    await using made = testBroker(folder.path, { rights, env });
    await assert.rejects(sync(made, { what: { file: "./git" } }), code("EACCES", /run for sh/));
    await assert.rejects(sync(made, { what: { file: "own/git" } }), code("EACCES", /run for sh/));
    assert.match((await sync(made, { what: { file: "git", args: ["--version"] } })).stdout, /^git version/);
    assert.equal(
      (await sync(made, { what: { file: "printenv", args: ["PATH"] } })).stdout,
      "/usr/bin:/bin\n",
    );
  });

  test("in the agent's data dir is not there", async () => {
    using folder = new Folder();
    folder.program("data-dir/tool", "#!/bin/sh\necho secret");
    await using made = testBroker(folder.path, { rights: everything() });
    await assert.rejects(sync(made, { what: { file: "data-dir/tool" } }), code("EACCES"));
  });

  test("that can't be started is an error as Node's", async () => {
    using folder = new Folder();
    folder.file("plain", "text");
    await using made = testBroker(folder.path, { rights: everything() });
    for (const [file, expected] of [
      ["./missing", "ENOENT"],
      ["./plain", "EACCES"],
      [folder.path, "EACCES"],
    ] as const) {
      await assert.rejects(
        spawn(made, { what: { file } }),
        code(expected, new RegExp(`^spawn .* ${expected}$`)),
      );
    }
    await assert.rejects(spawn(made, { what: { file: "ls" }, cwd: "missing" }), code("ENOENT"));
    await assert.rejects(spawn(made, { what: { file: "ls" }, cwd: "plain" }), code("ENOTDIR"));
  });

  for (const [what, params] of [
    ["a NUL in its name", { what: { file: "ls\0" } }],
    ["a NUL in an argument", { what: { file: "ls", args: ["a\0b"] } }],
    ["a NUL in its folder", { what: { file: "ls" }, cwd: "a\0" }],
    ["a NUL in a variable", { what: { file: "ls" }, env: { A: "\0" } }],
    ["too many arguments", { what: { file: "ls", args: Array(5000).fill("x") } }],
    ["no name", { what: { file: "" } }],
    [
      "too many variables",
      {
        what: { file: "ls" },
        env: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`A${i}`, ""])),
      },
    ],
  ] as const) {
    test(`with ${what} is refused`, async () => {
      await using made = testBroker("/", { rights: everything() });
      await assert.rejects(spawn(made, params), code("EINVAL"));
      assert.deepEqual(made.rights.asked, []);
    });
  }

  test("works in the session's folder; another one is one that the extension may read", async () => {
    using folder = new Folder();
    mkdirSync(join(folder.path, "sub"));
    await using made = testBroker(folder.path, { rights: noShell() });
    assert.equal((await sync(made, { what: { file: "pwd" } })).stdout.trim(), folder.path);
    await assert.rejects(sync(made, { what: { file: "pwd" }, cwd: "sub" }), code("EACCES"));
    made.rights.decide = everything().decide;
    assert.equal(
      (await sync(made, { what: { file: "pwd" }, cwd: "sub" })).stdout.trim(),
      join(folder.path, "sub"),
    );
  });
});

test("an argument that no kernel takes is refused as a kernel would", async () => {
  await using made = testBroker("/", { rights: everything() });
  await assert.rejects(spawn(made, { what: { file: "ls", args: ["x".repeat(200_000)] } }), code("E2BIG"));
});

describe("a program's environment", () => {
  const env = { PATH: process.env.PATH, HOME: "/home/me", SECRET: "s3cret", GRANTED: "yes", EDITOR: "vi" };
  const variables = async (made: TestBroker, own: Record<string, string>): Promise<string[]> =>
    (await sync(made, { what: { file: "env" }, env: own })).stdout.split("\n");

  test("has what programs need and what the extension sets, and none of the user's secrets", async () => {
    await using made = testBroker("/", { rights: noShell(), env });
    const seen = await variables(made, { GRANTED: "yes", MODE: "test", NODE_ENV: "x", HOME: "/home/me" });
    for (const each of ["HOME=/home/me", "GRANTED=yes", "MODE=test"]) assert.ok(seen.includes(each), each);
    assert.ok(!seen.some((line) => line.includes("s3cret")));
  });

  for (const name of [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "NODE_OPTIONS",
    "BASH_ENV",
    "ENV",
    "PYTHONSTARTUP",
    "PERL5OPT",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_KEY_0",
    "BUN_BE_BUN",
    "BASH_FUNC_ls%%",
    "HOME",
    "npm_config_script_shell",
    "NODE_COMPILE_CACHE",
    "PYTHONPATH",
    "GIT_DIR",
    "CFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "CARGO_ALIAS_TEST",
    "PYTEST_ADDOPTS",
    "RSYNC_CONNECT_PROG",
    "WGETRC",
    "ANSIBLE_CONFIG",
    "AWS_CONFIG_FILE",
    "VIMINIT",
  ]) {
    test(`may not have ${name} set by the extension`, async () => {
      await using made = testBroker("/", { rights: everything(), env });
      await assert.rejects(variables(made, { [name]: "/tmp/evil" }), code("EACCES", /may not set/));
    });
  }

  test("may have pagers and editors turned off, and no other set", async () => {
    await using made = testBroker("/", { rights: everything(), env });
    const seen = await variables(made, { GIT_PAGER: "cat", PAGER: "", GIT_EDITOR: "true" });
    for (const each of ["GIT_PAGER=cat", "PAGER=", "GIT_EDITOR=true"]) assert.ok(seen.includes(each), each);
    for (const value of ["./cat", "cat x", "sh"]) {
      await assert.rejects(variables(made, { GIT_PAGER: value }), code("EACCES"));
    }
  });

  test("may hand on the user's own value of such a variable if that was granted", async () => {
    await using made = testBroker("/", { rights: everything(), env });
    assert.ok((await variables(made, { EDITOR: "vi" })).includes("EDITOR=vi"));
    await assert.rejects(variables(made, { EDITOR: "ed" }), code("EACCES"));
    made.rights.decide = noShell().decide;
    await assert.rejects(variables(made, { EDITOR: "vi" }), code("EACCES"));
  });
});

describe("a command line", () => {
  const run = (made: TestBroker, command: string) => sync(made, { what: { command } });

  test("that is one program with arguments runs without a shell", async () => {
    await using made = testBroker("/", { rights: noShell() });
    assert.equal((await run(made, `printf "%s|" a 'b  $c' --x=1 "d"e`)).stdout, "a|b  $c|--x=1|de|");
    assert.equal(made.rights.asked[0]?.kind === "run" && made.rights.asked[0].name, "printf");
  });

  test("may have what looks like a shell's and is not", async () => {
    await using made = testBroker("/", { rights: noShell() });
    const command = "printf %s| HEAD~1 HEAD^ a#b a!b --format=%H x:y @";
    assert.equal(
      (await run(made, command.replace("|", ","))).stdout,
      "HEAD~1,HEAD^,a#b,a!b,--format=%H,x:y,@,",
    );
  });

  for (const command of [
    "ls ~",
    "ls --dir=~/x",
    "! ls",
    "ls # all",
    "echo a; echo b",
    "echo $HOME",
    "echo `id`",
    'echo "$(id)"',
    "echo a > b",
    "ls *",
    "A=1 ls",
    "ls &",
    "cd /",
    "echo 'open",
    "echo a\necho b",
    "exit 3",
  ]) {
    test(`that needs a shell is refused without one: ${JSON.stringify(command)}`, async () => {
      await using made = testBroker("/", { rights: noShell() });
      await assert.rejects(run(made, command), code("EACCES"));
      assert.deepEqual(made.rights.asked, [{ kind: "run", name: "sh", path: SH, args: ["-c", command] }]);
    });
  }

  test("goes to the shell if that was granted", async () => {
    await using made = testBroker("/", { rights: everything() });
    const ended = await run(made, "echo a; echo b >&2; exit 3");
    assert.deepEqual([ended.stdout, ended.stderr, ended.code], ["a\n", "b\n", 3]);
  });

  test("goes to the shell that it names, and to no other", async () => {
    await using made = testBroker("/", { rights: noShell() });
    await assert.rejects(sync(made, { what: { command: "a; b", shell: "bash" } }), code("EACCES"));
    assert.equal(made.rights.asked[0]?.kind === "run" && made.rights.asked[0].name, "bash");
  });
});

describe("a program that runs to its end at once", () => {
  test("gets its input and gives both outputs", async () => {
    await using made = testBroker("/", { rights: everything() });
    const ended = await sync(made, sh("cat; echo err >&2; exit 4"), "in\n");
    assert.deepEqual([ended.stdout, ended.stderr, ended.code], ["in\n", "err\n", 4]);
    assert.equal((await sync(made, sh("true"), "x".repeat(200_000))).code, 0);
    assert.equal((await sync(made, sh("kill -9 $$"))).signal, "SIGKILL");
  });

  test("is ended at its time-out, with what it started", async () => {
    await using made = testBroker("/", { rights: everything() });
    const ended = await sync(made, { ...sh("sleep 100 & echo $!; wait"), timeout: 200 });
    assert.equal(ended.problem, "ETIMEDOUT");
    assert.equal(ended.signal, "SIGTERM");
    await gone(Number(ended.stdout));
  });

  test("is ended when it writes more than it may", async () => {
    await using made = testBroker("/", { rights: everything() });
    const ended = await sync(made, { ...sh("yes"), maxBuffer: 1000 });
    assert.equal(ended.problem, "ENOBUFS");
    assert.equal(ended.stdout.length, 1000);
  });

  test("leaves nothing in the background, and does not wait for it", async () => {
    await using made = testBroker("/", { rights: everything() });
    const ended = await sync(made, sh("sleep 100 & echo $!"));
    assert.equal(ended.code, 0);
    await gone(Number(ended.stdout));
  });
});

describe("a program that goes on", () => {
  test("is written to and read from as it runs, and says how it ended", async () => {
    await using made = testBroker("/", { rights: everything() });
    const { id, pid } = await spawn(made, sh("read a; echo got $a; cat >&2; exit 5"));
    const send = (text: string) => made.call("run.write", { id }, new TextEncoder().encode(text));
    await send("one\n");
    assert.equal(await firstLine(made, id), "got one");
    await send("rest");
    await made.call("run.endInput", { id });
    assert.equal(await readAll(made, id, "stderr"), "rest");
    assert.deepEqual((await made.call("run.wait", { id })).value, { code: 5, signal: null });
    await assert.rejects(send("late"), code("EPIPE"));
    await made.call("run.close", { id });
    await assert.rejects(made.call("run.wait", { id }), code("EBADF"));
    await gone(pid);
  });

  test("waits while nobody reads, and loses nothing", async () => {
    await using made = testBroker("/", { rights: everything() });
    const { id } = await spawn(made, sh("head -c 1000000 /dev/zero; echo end >&2"));
    const late = readAll(made, id, "stderr");
    // It can't come to its end before its output is read.
    assert.equal(
      ((await Promise.race([late, made.call("run.read", { id, stream: "stdout" })])) as { bytes: Uint8Array })
        .bytes.length > 0,
      true,
    );
    const rest = await readAll(made, id);
    assert.ok(rest.length > 900_000);
    assert.equal(await late, "end\n");
  });

  test("whose output nobody wants comes to its end all the same", async () => {
    await using made = testBroker("/", { rights: everything() });
    const { id } = await spawn(made, { ...sh("head -c 3000000 /dev/zero"), outputs: [], input: false });
    assert.deepEqual((await made.call("run.wait", { id })).value, { code: 0, signal: null });
  });

  test("is signalled with what it started", async () => {
    await using made = testBroker("/", { rights: everything() });
    const { id, pid } = await spawn(made, sh("sleep 100 & echo $!; wait"));
    const child = Number(await firstLine(made, id));
    assert.equal((await made.call("run.kill", { id, signal: 0 })).value, true);
    assert.equal((await made.call("run.kill", { id, signal: "SIGTERM" })).value, true);
    assert.deepEqual((await made.call("run.wait", { id })).value, { code: null, signal: "SIGTERM" });
    await gone(pid);
    await gone(child);
    for (const signal of ["SIGNOTHING", "0x9", -1, 999, "__proto__"]) {
      await assert.rejects(made.call("run.kill", { id, signal }), code("EINVAL"));
    }
  });

  test("counts among the programs of its extension; one too many never runs", async () => {
    using folder = new Folder();
    await using made = testBroker(folder.path, {
      rights: everything(),
      limits: { pendingCalls: 8, openFiles: 1, maxCallBytes: 1000 },
    });
    const { id } = await spawn(made, sh("sleep 100"));
    await assert.rejects(spawn(made, sh("touch ran")), code("EMFILE"));
    await assert.rejects(spawn(made, { what: { file: "not-there" } }), code("ENOENT"));
    await made.call("run.close", { id });
    assert.equal((await sync(made, sh("test -e ran"))).code, 1);
  });

  test("is no other extension's", async () => {
    await using one = testBroker("/", { rights: everything() });
    await using two = testBroker("/", { rights: everything() });
    const { id } = await spawn(one, sh("sleep 100"));
    await assert.rejects(two.call("run.kill", { id, signal: "SIGKILL" }), code("EBADF"));
  });
});

describe("when the extension ends", () => {
  test("its programs end, with what they started, deaf ones too", async () => {
    const made = testBroker("/", { rights: everything() });
    const { id, pid } = await spawn(made, sh("trap '' TERM; sleep 100 & echo $!; while :; do sleep 1; done"));
    const child = Number(await firstLine(made, id));
    const pending = assert.rejects(made.call("run.read", { id, stream: "stderr" }), code("ECANCELED"));
    assert.ok(isRunning(pid));
    await made.broker.close();
    await pending;
    await gone(pid);
    await gone(child);
  });

  test("in the middle of a call that runs a program to its end, that ends", async () => {
    using folder = new Folder();
    const made = testBroker(folder.path, { rights: everything() });
    const { id } = await spawn(made, sh("mkfifo pipe; echo ready"));
    await readAll(made, id);
    const call = assert.rejects(sync(made, sh("echo $$ > pipe; exec sleep 100")), code("ECANCELED"));
    const { id: reader } = await spawn(made, sh("cat pipe"));
    const pid = Number(await firstLine(made, reader));
    await made.broker.close();
    await call;
    await gone(pid);
  });

  test("while it waits for an answer about a program, nothing is started", async () => {
    using folder = new Folder();
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const rights = everything();
    rights.demand = () => {
      asked.resolve();
      return answer.promise;
    };
    const made = testBroker(folder.path, { rights });
    const call = assert.rejects(spawn(made, sh("touch ran")), code("ECANCELED"));
    await asked.promise;
    const closed = made.broker.close();
    answer.resolve();
    await closed;
    await call;
    assert.throws(() => readFileSync(join(folder.path, "ran")));
  });
});
