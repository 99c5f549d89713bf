/** `process`, `os`, `readline` and `tty` in the sandbox: data, and nothing that reaches beyond the extension. */
import assert from "node:assert/strict";
import { hostname, totalmem } from "node:os";
import { after, before, describe, test } from "node:test";
import { FakeRights } from "../../support/broker.ts";
import { type Guest, guestOf, outside, type Scenario } from "./run-guest.ts";

const same: Record<string, Scenario> = {
  "lines of a stream, however they are cut": async ({ readline, stream }) => {
    const chunks = ["a\nb\r", "\nc", "\r\n\n", Uint8Array.of(0xe2, 0x82), Uint8Array.of(0xac, 10), "last"];
    const lines: string[] = [];
    const input = stream.Readable.from(chunks, { objectMode: false });
    for await (const line of readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
      lines.push(line);
    return lines;
  },

  "line and close as events": async ({ readline, stream }) => {
    const events: unknown[] = [];
    const lines = readline.createInterface({ input: stream.Readable.from(["x\ny"]) });
    lines.on("line", (line: string) => events.push(line));
    await new Promise((resolve) => lines.on("close", resolve));
    return events;
  },

  "a question to a stream is answered by its next line": async ({ readline, stream }) => {
    const input = new stream.PassThrough();
    const lines = readline.createInterface({ input });
    const answers: string[] = [];
    lines.on("line", (line: string) => answers.push(`line ${line}`));
    const closed = new Promise((resolve) => lines.on("close", resolve));
    const answer = new Promise((resolve) => lines.question("?", resolve));
    input.write("yes\nmore\n");
    input.end();
    answers.push(`answer ${await answer}`);
    await closed;
    return answers.sort();
  },

  "many lines, while the reader is slow": async ({ readline, stream }) => {
    const text = Array.from({ length: 5000 }, (_, index) => `${index}\n`).join("");
    let sum = 0;
    for await (const line of readline.createInterface({ input: stream.Readable.from([text]) })) {
      sum += Number(line);
      if (sum % 7 === 0) await null;
    }
    return sum;
  },

  "the lines of a program": async ({ readline, child_process }) => {
    const child = child_process.spawn("printf", ["one\\ntwo\\n"]);
    const lines: string[] = [];
    for await (const line of readline.createInterface({ input: child.stdout })) lines.push(line);
    return lines;
  },

  "what os knows without asking": ({ os }) => [
    os.EOL,
    os.platform(),
    os.arch(),
    os.type(),
    os.machine(),
    os.endianness(),
    os.devNull,
    os.constants.signals.SIGKILL,
    os.constants.signals.SIGTERM,
    os.constants.errno.ENOENT,
    os.constants.priority.PRIORITY_LOW,
  ],

  "what os asks the host": ({ os }) => [
    os.hostname(),
    os.totalmem(),
    os.cpus().length,
    os.cpus()[0].model,
    os.availableParallelism(),
    os.userInfo().username,
    os.userInfo().uid,
    typeof os.freemem(),
    os.loadavg().length,
  ],

  "tty has none": ({ tty }) => [tty.isatty(99)],

  "process.nextTick runs after this": async ({ process }) => {
    const order: unknown[] = [];
    process.nextTick((value: string) => order.push(value), "later");
    order.push("now");
    await new Promise((resolve) => setTimeout(resolve));
    return order;
  },

  "process.hrtime goes on": ({ process }) => {
    const [seconds, nanoseconds] = process.hrtime(process.hrtime());
    return [seconds, nanoseconds >= 0 && nanoseconds < 1e9, typeof process.hrtime.bigint()];
  },

  "process.env holds what is put there": ({ process }) => {
    process.env.FROM_HERE = "1";
    const value = process.env.FROM_HERE;
    delete process.env.FROM_HERE;
    return [value, "FROM_HERE" in process.env];
  },
};

const own: Record<string, Scenario> = {
  data: ({ process }) => ({
    global: (globalThis as unknown as { process: unknown }).process === process,
    env: process.env,
    pid: process.pid,
    platform: process.platform,
    node: process.versions.node,
    argv: process.argv.length,
    tty: [process.stdin.isTTY, process.stdout.isTTY, process.stderr.isTTY],
    chained: process.on("exit", () => {}).once("SIGINT", () => {}) === process,
    memory: process.memoryUsage().rss,
    tag: String(process),
  }),
  cwd: ({ process }) => process.cwd(),
  refused: ({ process }) => {
    const messages: string[] = [];
    for (const name of ["exit", "reallyExit", "abort", "kill", "chdir", "disconnect"]) {
      try {
        process[name]("/");
        messages.push(`${name} returned`);
      } catch (error) {
        messages.push((error as Error).message);
      }
    }
    return messages;
  },
  output: async ({ process, stream }) => {
    process.stdout.write("to standard output\n");
    process.stderr.write(Uint8Array.of(0xe2, 0x82));
    process.stderr.write(Uint8Array.of(0xac));
    process.emitWarning("careful");
    await new Promise((resolve) => process.stdout.write("x", resolve));
    await new Promise((resolve) => {
      const source = stream.Readable.from(["piped"]);
      source.on("end", resolve);
      source.pipe(process.stdout);
    });
  },
  input: async ({ process, readline }) => {
    const chunks: unknown[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    const lines = readline.createInterface({ input: process.stdin, output: process.stdout });
    let message = "";
    try {
      lines.question("Sure?", () => {});
    } catch (error) {
      message = (error as Error).message;
    }
    const asked = await readline.promises
      .createInterface({ input: process.stdin })
      .question("?")
      .catch((error: Error) => error.message);
    return [chunks, message, asked];
  },
  refusedSystem: ({ os }) => {
    const codes: string[] = [];
    for (const name of [
      "hostname",
      "userInfo",
      "cpus",
      "totalmem",
      "freemem",
      "loadavg",
      "uptime",
      "setPriority",
    ]) {
      try {
        os[name]();
        codes.push(`${name} returned`);
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    }
    return [codes, os.homedir(), os.tmpdir(), os.networkInterfaces(), os.release()];
  },
};

describe("as outside", () => {
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

describe("process in the sandbox", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(own);
  });
  after(() => guest[Symbol.asyncDispose]());

  test("is plain data, and the global of that name", async () => {
    assert.deepEqual(await guest.run("data"), {
      global: true,
      env: { GRANTED: "yes" },
      pid: process.pid,
      platform: process.platform,
      node: "24.0.0",
      argv: 2,
      tty: [false, false, false],
      chained: true,
      memory: 0,
      tag: "[object process]",
    });
  });

  test("works where the session does", async () => {
    assert.match(String(await guest.run("cwd")), /xdev-test-/);
  });

  test("ends, signals and changes nothing, and says so", async () => {
    const messages = (await guest.run("refused")) as string[];
    for (const message of messages) assert.match(message, /does not exist in the sandbox/);
    assert.equal(messages.length, 6);
  });

  test("has its standard input at its end, and readline asks nobody", async () => {
    const [chunks, message, asked] = (await guest.run("input")) as [unknown[], string, string];
    assert.deepEqual(chunks, []);
    assert.match(message, /ctx\.ui\.input/);
    assert.match(asked, /ctx\.ui\.input/);
  });

  test("writes to the extension's log", async () => {
    await guest.run("output");
    assert.deepEqual(guest.log, [
      "info to standard output",
      "warn €",
      "warn Warning: careful",
      "info x",
      "info piped",
    ]);
  });
});

describe("os in the sandbox", () => {
  test("without the permission tells nothing of the machine or the user", async () => {
    await using guest = await guestOf(own, new FakeRights(() => false));
    const answer = (await guest.run("refusedSystem")) as unknown[];
    assert.deepEqual(answer, [
      [...Array(7).fill("EACCES"), "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"],
      "/home/nobody",
      "/tmp",
      {},
      "0.0.0",
    ]);
    assert.ok(
      !JSON.stringify(answer).includes(hostname()) && !JSON.stringify(answer).includes(String(totalmem())),
    );
  });
});
