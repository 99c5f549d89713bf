/** `node:child_process` in the sandbox does what Node's does: the same code runs inside and outside, and must see the same. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { FakeRights } from "../../support/broker.ts";
import { gone } from "../../support/processes.ts";
import { type Guest, guestOf, outside, type Scenario } from "./run-guest.ts";

const same: Record<string, Scenario> = {
  "exec gives its outputs as text": async ({ child_process, util }) =>
    util.promisify(child_process.exec)("echo out; echo err >&2"),

  "exec that fails gives status, outputs and a message": async ({ child_process, util }) => {
    const error = await util
      .promisify(child_process.exec)("echo out; echo err >&2; exit 3")
      .catch((e: unknown) => e);
    const { message, code, killed, signal, cmd, stdout, stderr } = error;
    return { message, code, killed, signal, cmd, stdout, stderr };
  },

  "exec of a program that does not exist has the shell's status": async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.exec("no-such-program-here", (error: { code: number }) => resolve(error.code)),
    ),

  "exec calls back with (null, stdout, stderr)": async ({ child_process }) =>
    new Promise((resolve) => child_process.exec("echo a", {}, (...args: unknown[]) => resolve(args))),

  "exec as bytes": async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.exec("printf '\\377a'", { encoding: "buffer" }, (_: unknown, out: Uint8Array) =>
        resolve([...out]),
      ),
    ),

  "exec with a time-out is ended": async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.exec("exec sleep 20", { timeout: 50 }, (error: Record<string, unknown>) =>
        resolve([error.killed, error.signal, error.code, String(error.message).trim()]),
      ),
    ),

  "exec that writes too much is ended": async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.exec("yes", { maxBuffer: 100 }, (error: Record<string, unknown>, out: string) =>
        resolve([error.code, error.message, out.length]),
      ),
    ),

  "exec in another folder": async ({ child_process, util }) =>
    (await util.promisify(child_process.exec)("pwd", { cwd: "/" })).stdout,

  "execFile passes arguments as they are": async ({ child_process, util }) =>
    util.promisify(child_process.execFile)("printf", ["%s|", "a b", "$HOME", "*", ""]),

  "execFile of a program that does not exist is an error with its code": async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.execFile("no-such-program-here", ["x"], (error: Record<string, unknown>, out: string) => {
        const { code, errno, syscall, path, spawnargs } = error;
        resolve([code, errno, syscall, path, spawnargs, out]);
      }),
    ),

  "execFile is aborted by a signal": async ({ child_process }) => {
    const controller = new AbortController();
    const result = new Promise((resolve) =>
      child_process.execFile(
        "sleep",
        ["20"],
        { signal: controller.signal },
        (error: Record<string, unknown>) => resolve([error.name, error.code]),
      ),
    );
    controller.abort();
    return result;
  },

  "spawn tells of its start, output and end, in this order": async ({ child_process }) => {
    const events: unknown[] = [];
    const child = child_process.spawn("sh", ["-c", "echo out; echo err >&2; exit 2"]);
    child.on("spawn", () => events.push("spawn", typeof child.pid));
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: unknown) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk: unknown) => {
      err += chunk;
    });
    child.on("exit", (...args: unknown[]) => events.push("exit", args));
    await new Promise<void>((resolve) =>
      child.on("close", (...args: unknown[]) => {
        events.push("close", args);
        resolve();
      }),
    );
    return [
      events,
      out,
      err,
      child.exitCode,
      child.signalCode,
      child.spawnfile,
      child.spawnargs,
      child.killed,
    ];
  },

  "spawn of a program that does not exist is an event": async ({ child_process }) => {
    const child = child_process.spawn("no-such-program-here", ["x"]);
    const error = await new Promise<Record<string, unknown>>((resolve) => child.on("error", resolve));
    return [error.code, error.syscall, error.path, error.spawnargs, child.pid ?? null];
  },

  "spawn is written to, in pieces and large ones": async ({ child_process }) => {
    const child = child_process.spawn("wc", ["-c"]);
    child.stdin.write("abc");
    child.stdin.write(new Uint8Array(300_000));
    child.stdin.end("d");
    let out = "";
    for await (const chunk of child.stdout) out += chunk;
    return Number(out);
  },

  "spawn gives large output, whole": async ({ child_process }) => {
    const child = child_process.spawn("head", ["-c", "1000000", "/dev/zero"]);
    let size = 0;
    for await (const chunk of child.stdout) size += chunk.length;
    return size;
  },

  "programs are piped into each other": async ({ child_process }) => {
    const first = child_process.spawn("printf", ["b\\na\\n"]);
    const second = child_process.spawn("sort");
    first.stdout.pipe(second.stdin);
    let out = "";
    second.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    await new Promise((resolve) => second.on("close", resolve));
    return out;
  },

  "spawn is ended by kill": async ({ child_process }) => {
    const child = child_process.spawn("sleep", ["20"]);
    await new Promise((resolve) => child.on("spawn", resolve));
    const first = child.kill("SIGKILL");
    const [code, signal] = await new Promise<unknown[]>((resolve) =>
      child.on("close", (...args: unknown[]) => resolve(args)),
    );
    return [first, code, signal, child.killed, child.signalCode, child.kill()];
  },

  "kill with a signal that does not exist throws": async ({ child_process }) => {
    const child = child_process.spawn("sleep", ["20"]);
    await new Promise((resolve) => child.on("spawn", resolve));
    try {
      child.kill("SIGNOTHING");
    } catch (error) {
      return (error as { code: string }).code;
    } finally {
      child.kill();
    }
  },

  "spawn with ignored streams has none": async ({ child_process }) => {
    const child = child_process.spawn("head", ["-c", "3000000", "/dev/zero"], { stdio: "ignore" });
    const code = await new Promise((resolve) => child.on("close", resolve));
    return [child.stdin, child.stdout, child.stderr, code];
  },

  "a program whose output nobody reads comes to its end": async ({ child_process }) => {
    const child = child_process.spawn("echo", ["x"]);
    return new Promise((resolve) => child.on("close", resolve));
  },

  "a program whose output is destroyed is ended when it writes on": async ({ child_process }) => {
    const child = child_process.spawn("yes");
    child.stdout.once("data", () => child.stdout.destroy());
    // By SIGPIPE or by an error of its own: that depends on what the runtime makes pipes of.
    return new Promise((resolve) => child.on("close", (code: number | null) => resolve(code !== 0)));
  },

  "spawn with a shell": async ({ child_process }) => {
    const child = child_process.spawn("echo $((1 + 1)); exit 4", { shell: true });
    let out = "";
    for await (const chunk of child.stdout) out += chunk;
    return [out, child.spawnargs.slice(1)];
  },

  "variables of the extension reach the program": async ({ child_process, util }) =>
    (
      await util.promisify(child_process.execFile)("printenv", ["MODE"], {
        env: { MODE: "test", UNSET: undefined },
      })
    ).stdout,

  "execSync gives bytes, or text with an encoding": async ({ child_process }) => [
    [...child_process.execSync("echo a")],
    child_process.execSync("echo b", { encoding: "utf8" }),
  ],

  "execSync that fails throws with status and outputs": async ({ child_process }) => {
    try {
      child_process.execSync("echo out; echo err >&2; exit 3", { stdio: "pipe", encoding: "utf8" });
    } catch (error) {
      const { message, status, signal, stdout, stderr, output } = error as Record<string, unknown>;
      return { message, status, signal, stdout, stderr, output };
    }
  },

  "execSync has input": async ({ child_process }) =>
    child_process.execSync("cat", { input: "in", encoding: "utf8" }),

  execFileSync: async ({ child_process }) =>
    child_process.execFileSync("printf", ["%s", "a b"], { encoding: "utf8" }),

  "execFileSync of a program that does not exist throws": async ({ child_process }) => {
    try {
      child_process.execFileSync("no-such-program-here", ["x"]);
    } catch (error) {
      const { code, syscall, path, spawnargs } = error as Record<string, unknown>;
      return { code, syscall, path, spawnargs };
    }
  },

  "spawnSync gives everything": async ({ child_process }) => {
    const { status, signal, stdout, stderr, output, error } = child_process.spawnSync(
      "sh",
      ["-c", "cat; echo err >&2; exit 2"],
      { input: Uint8Array.of(97), encoding: "utf8" },
    );
    return { status, signal, stdout, stderr, output, error };
  },

  "spawnSync with a time-out": async ({ child_process }) => {
    const { status, signal, error } = child_process.spawnSync("sleep", ["20"], { timeout: 50 });
    return [status, signal, error.code];
  },

  "spawnSync of a program that does not exist": async ({ child_process }) => {
    const { status, error } = child_process.spawnSync("no-such-program-here");
    return [status, error.code];
  },

  "arguments of a wrong type are refused": async ({ child_process }) => {
    const codes: unknown[] = [];
    for (const run of [
      () => child_process.spawn(1),
      () => child_process.spawn(""),
      () => child_process.spawn("ls", "x"),
      () => child_process.spawn("l\0s"),
      () => child_process.spawnSync("ls", ["a\0"]),
    ]) {
      try {
        run();
        codes.push(null);
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    }
    return codes;
  },
};

const own: Record<string, Scenario> = {
  fork: ({ child_process }) => {
    try {
      child_process.fork("x");
    } catch (error) {
      return (error as Error).message;
    }
  },
  inherit: async ({ child_process }) => {
    const child = child_process.spawn("echo", ["into the log"], { stdio: "inherit" });
    await new Promise((resolve) => child.on("close", resolve));
    child_process.execSync("echo sync", { stdio: "inherit" });
    return [child.stdin, child.stdout, child.stderr];
  },
  loader: async ({ child_process }) =>
    new Promise((resolve) =>
      child_process.execFile(
        "env",
        { env: { LD_PRELOAD: "/x" } },
        (error: { message: string; code: string }) => resolve([error.code, error.message]),
      ),
    ),
  granted: ({ child_process }) => child_process.execSync("env", { encoding: "utf8" }),
  "no shell": async ({ child_process }) => {
    const plain = child_process.execSync("echo a 'b c'", { encoding: "utf8" });
    const error = await new Promise((resolve) => child_process.exec("echo a; echo b", resolve));
    const missing = child_process.spawnSync("no-such-program-here", { shell: true, encoding: "utf8" });
    return [
      plain,
      (error as { code: string }).code,
      (error as Error).message,
      missing.status,
      missing.stderr,
    ];
  },
  missing: async ({ child_process }) => {
    const child = child_process.spawn("no-such-program-here");
    const events: unknown[] = [];
    child.on("error", (error: Error) => events.push(error.message));
    child.on("exit", () => events.push("exit"));
    return new Promise((resolve) => child.on("close", (code: number) => resolve([...events, code])));
  },
  "left running": async ({ child_process }) => {
    const child = child_process.spawn("sh", ["-c", "sleep 100 & echo $!; wait"]);
    const out = await new Promise((resolve) => child.stdout.once("data", resolve));
    return [child.pid, Number(String(out))];
  },
  "killed before it ran": async ({ child_process }) => {
    const child = child_process.spawn("sleep", ["20"]);
    const isKilled = child.kill();
    const signal = await new Promise((resolve) =>
      child.on("exit", (_: unknown, name: string) => resolve(name)),
    );
    return [isKilled, signal];
  },
};

describe("child_process in the sandbox, as outside", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(same);
  });
  after(() => guest[Symbol.asyncDispose]());

  for (const [name, scenario] of Object.entries(same)) {
    test(name, async () => {
      assert.deepEqual(await guest.run(name), await outside(scenario));
    });
  }
});

describe("child_process in the sandbox, by itself", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(own);
  });
  after(() => guest[Symbol.asyncDispose]());

  test("fork is refused", async () => {
    assert.match(String(await guest.run("fork")), /fork\(\) is not available in the sandbox/);
  });

  test("streams that are inherited go to the log", async () => {
    assert.deepEqual(await guest.run("inherit"), [null, null, null]);
    assert.deepEqual(guest.log, ["info into the log", "info sync"]);
  });

  test("a variable that makes a program run other code is refused, and the error says so", async () => {
    const [code, message] = (await guest.run("loader")) as string[];
    assert.equal(code, "EACCES");
    assert.match(message!, /may not set LD_PRELOAD/);
  });

  test("granted variables reach programs, others do not", async () => {
    const text = String(await guest.run("granted"));
    assert.match(text, /^GRANTED=yes$/m);
    assert.doesNotMatch(text, /npm_|^BUN_/m);
  });

  test("a program that is not there is an error in Node's words, and closed", async () => {
    assert.deepEqual(await guest.run("missing"), ["spawn no-such-program-here ENOENT", -2]);
  });

  test("a program that is killed before it runs is ended", async () => {
    assert.deepEqual(await guest.run("killed before it ran"), [true, "SIGTERM"]);
  });

  test("without a grant for the shell, simple commands run and others say what they need", async () => {
    const rights = new FakeRights((request) => request.kind === "run" && request.name !== "sh");
    await using other = await guestOf(own, rights);
    const [plain, code, message, status, stderr] = (await other.run("no shell")) as unknown[];
    assert.equal(plain, "a b c\n");
    assert.equal(code, "EACCES");
    assert.match(String(message), /needs the permission run/);
    assert.equal(status, 127);
    assert.match(String(stderr), /not found/);
  });

  test("what an extension leaves running ends with it", async () => {
    const other = await guestOf(own);
    const pids = (await other.run("left running")) as number[];
    await other[Symbol.asyncDispose]();
    for (const pid of pids) await gone(pid);
  });
});
