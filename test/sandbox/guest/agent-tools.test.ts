/** The tool factories of the agent's package in a guest: over its own rights, and over operations of its own. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { FakeRights } from "../../support/broker.ts";
import { type Guest, guestOf, type Scenario } from "./run-guest.ts";

/** Scenarios that use nothing but what they are given; `cwd` is the folder of the guest. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  files: async ({ agent, process }) => {
    const cwd = process.cwd();
    const [read, bash, edit, write] = agent.createCodingTools(cwd);
    const written = await write.execute("1", { path: "sub/a.txt", content: "one\ntwo\nthree\n" });
    const edited = await edit.execute("2", {
      path: "sub/a.txt",
      edits: [{ oldText: "two", newText: "TWO" }],
    });
    const seen = await read.execute("3", { path: "sub/a.txt", offset: 2, limit: 1 });
    const ran = await bash.execute("4", { command: "cat sub/a.txt; exit 3" });
    return { written, edited, seen, ran };
  },
  searches: async ({ agent, process }) => {
    const [read, grep, find, ls] = agent.createReadOnlyTools(process.cwd());
    return {
      names: [read.name, grep.name, find.name, ls.name],
      grep: await grep.execute("1", { pattern: "ne{3}dle" }),
      find: await find.execute("2", { pattern: "*.md" }),
      ls: await ls.execute("3", {}),
    };
  },
  refused: async ({ agent, process }) => {
    const texts: string[] = [];
    for (const tool of agent.createCodingTools(process.cwd())) {
      const args = { path: "no.txt", content: "x", command: "true", edits: [{ oldText: "a", newText: "b" }] };
      await tool.execute("1", args).then(
        (result: { isError?: boolean; content: { text: string }[] }) =>
          texts.push(`${tool.name} ${result.isError === true} ${result.content[0]?.text}`),
        (error: Error) => texts.push(`${tool.name} throws ${error.message}`),
      );
    }
    return texts;
  },
  remoteFiles: async ({ agent }) => {
    const files = new Map([["/far/a.txt", "one\r\ntwo\r\n"]]);
    const calls: string[] = [];
    const operations = {
      readFile: async (path: string) => {
        calls.push(`read ${path}`);
        return Buffer.from(files.get(path)!);
      },
      access: async (path: string) => {
        calls.push(`access ${path}`);
        if (!files.has(path)) throw new Error(`no ${path} there`);
      },
      writeFile: async (path: string, content: string) => {
        calls.push(`write ${path}`);
        files.set(path, content);
      },
      mkdir: async (folder: string) => void calls.push(`mkdir ${folder}`),
    };
    const read = agent.createReadTool("/far", { operations });
    const edit = agent.createEditToolDefinition("/far", { operations });
    const write = agent.createWriteTool("/far", { operations });
    const edited = await edit.execute("1", { path: "a.txt", oldText: "two", newText: "three" });
    await write.execute("2", { path: "b/c.txt", content: "new" });
    return {
      edited,
      seen: await read.execute("3", { path: "a.txt" }),
      missing: await read.execute("4", { path: "x.txt" }).catch((error: Error) => error.message),
      files: [...files],
      calls,
    };
  },
  remoteImage: async ({ agent }) => {
    const operations = {
      readFile: async () => Buffer.from([1, 2, 3]),
      access: async () => {},
      detectImageMimeType: async () => "image/png",
    };
    return agent.createReadTool("/far", { operations }).execute("1", { path: "a" });
  },
  remoteSearches: async ({ agent }) => {
    const find = agent.createFindTool("/far", {
      operations: { exists: async () => true, glob: async () => ["/far/x.ts", "y.ts"] },
    });
    const ls = agent.createLsTool("/far", {
      operations: {
        exists: async () => true,
        stat: async (path: string) => ({ isDirectory: () => !path.endsWith(".ts") }),
        readdir: async () => ["sub", "b.ts"],
      },
    });
    const grep = agent.createGrepTool("/far", {
      operations: {
        isDirectory: () => {
          throw new Error("not on this machine");
        },
      },
    });
    return [
      (await find.execute("1", { pattern: "*.ts" })).content[0].text,
      (await ls.execute("2", {})).content[0].text,
      await grep.execute("3", { pattern: "x" }).catch((error: Error) => error.message),
    ];
  },
  remoteBash: async ({ agent }) => {
    const seen: unknown[] = [];
    const operations = {
      exec: async (
        command: string,
        cwd: string,
        {
          onData,
          timeout,
          env,
        }: { onData(data: unknown): void; timeout: number; env: Record<string, string> },
      ) => {
        seen.push([command, cwd, timeout, env.EXTRA]);
        onData(Buffer.from("half"));
        onData(Buffer.from(" and half\n"));
        if (command.includes("late")) throw new Error(`timeout:${timeout}`);
        return { exitCode: command.includes("bad") ? 7 : 0 };
      },
    };
    const bash = agent.createBashTool("/far", {
      operations,
      commandPrefix: "set -u",
      spawnHook: (spawn: { command: string; cwd: string; env: object }) => ({
        command: `${spawn.command}\n:`,
        cwd: "/farther",
        env: { ...spawn.env, EXTRA: "yes" },
      }),
    });
    const updates: unknown[] = [];
    const good = await bash.execute("1", { command: "good", timeout: 5 }, undefined, (update: unknown) =>
      updates.push(update),
    );
    return {
      good,
      bad: await bash.execute("2", { command: "bad" }),
      late: await bash.execute("3", { command: "late", timeout: 1 }),
      seen,
      isTold: updates.length > 0,
    };
  },
  localOperations: async ({ agent, process }) => {
    const operations = agent.createLocalBashOperations();
    const chunks: string[] = [];
    const onData = (data: { toString(): string }) => void chunks.push(data.toString());
    const end = (command: string, options: object) =>
      operations.exec(command, process.cwd(), { onData, ...options }).then(
        (value: unknown) => value,
        (error: Error) => error.message,
      );
    const abort = new AbortController();
    const aborted = end("sleep 100", { signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    return {
      // No file of the user's is run by a shell: it is at the second level.
      ok: await end('echo "$SOME $SHLVL"', { env: { PATH: process.env.PATH, SOME: "thing" } }),
      failed: await end("exit 4", {}),
      killed: await end("kill -9 $$", {}),
      late: await end("sleep 100", { timeout: 0.05 }),
      aborted: await aborted,
      output: chunks.join(""),
    };
  },
  queue: async ({ agent }) => {
    const order: string[] = [];
    const slow = agent.withFileMutationQueue("/x/a", async () => {
      order.push("one begins");
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push("one ends");
      return 1;
    });
    const next = agent.withFileMutationQueue("/x/../x/a", async () => void order.push("two"));
    const other = agent.withFileMutationQueue("/x/b", async () => void order.push("other"));
    return [await slow, await next, await other, order];
  },
  spill: async ({ agent, process }) => {
    const [, bash] = agent.createCodingTools(process.cwd());
    const { details } = await bash.execute("1", { command: "seq 1 5000" });
    return details;
  },
};

interface Result {
  content: { type: string; text?: string; data?: string; mimeType?: string }[];
  details: Record<string, unknown>;
  isError?: boolean;
}
const text = (result: Result) => result.content[0]?.text ?? "";

describe("tools that an extension makes with the agent's factories", () => {
  let guest: Guest;
  before(async () => {
    guest = await guestOf(SCENARIOS, new FakeRights(), { agent: "@mariozechner/pi-coding-agent" });
  });
  after(() => guest?.[Symbol.asyncDispose]());
  const run = async <T>(name: string): Promise<T> => (await guest.run(name)) as T;

  test("read, write, edit and run what the extension may", async () => {
    const { written, edited, seen, ran } = await run<Record<string, Result>>("files");
    assert.match(text(written!), /^Created sub\/a\.txt/);
    assert.match(text(edited!), /^Edited sub\/a\.txt: 1 replaced/);
    assert.match(text(seen!), /^2\tTWO/);
    assert.equal((seen!.details.truncation as { truncated: boolean }).truncated, true);
    assert.match(
      String(edited!.details.patch),
      /^--- sub\/a\.txt\n\+\+\+ sub\/a\.txt\n@@ -1,4 \+1,4 @@\n one\n-two\n\+TWO\n/,
    );
    assert.match(text(ran!), /^one\nTWO\nthree\n\n\[exit status 3\]$/);
    assert.equal(ran!.isError, true);
    assert.equal(readFileSync(`${guest.folder.path}/sub/a.txt`, "utf8"), "one\nTWO\nthree\n");
  });

  test("search as the built-in tools do", async () => {
    writeFileSync(`${guest.folder.path}/hay.md`, "a\nneeedle\n");
    const found = await run<Record<string, Result> & { names: string[] }>("searches");
    assert.deepEqual(found.names, ["read", "grep", "find", "ls"]);
    assert.match(text(found.grep!), /^hay\.md:2:neeedle$/);
    assert.equal(text(found.find!), "hay.md");
    assert.match(text(found.ls!), /^guest\.js\nhay\.md/m);
  });

  test("do nothing that the extension may not", async () => {
    guest.rights.decide = () => false;
    try {
      const texts = await run<string[]>("refused");
      assert.equal(texts.length, 4);
      for (const said of texts)
        assert.match(said, /throws .*(?:EACCES|permission)|true .*(?:EACCES|permission)/i);
    } finally {
      guest.rights.decide = () => true;
    }
  });

  test("work on another system's files through operations", async () => {
    const { edited, seen, missing, files, calls } = await run<{
      edited: Result;
      seen: Result;
      missing: string;
      files: [string, string][];
      calls: string[];
    }>("remoteFiles");
    assert.match(text(edited), /1 replaced/);
    assert.match(String(edited.details.diff), /^ 1 one\n-2 two\n\+2 three/m);
    assert.match(String(edited.details.patch), /^--- a\.txt\n\+\+\+ a\.txt\n@@ /);
    assert.equal(text(seen), "1\tone\n2\tthree");
    assert.match(missing, /no \/far\/x\.txt there/);
    assert.deepEqual(files, [
      ["/far/a.txt", "one\r\nthree\r\n"],
      ["/far/b/c.txt", "new"],
    ]);
    assert.deepEqual(calls.slice(0, 3), ["access /far/a.txt", "read /far/a.txt", "write /far/a.txt"]);
    assert.ok(calls.includes("mkdir /far/b"));
  });

  test("show the image that operations say a file is", async () => {
    const { content } = await run<Result>("remoteImage");
    assert.deepEqual(content[1], { type: "image", data: "AQID", mimeType: "image/png" });
  });

  test("list and find through operations, which may refuse", async () => {
    assert.deepEqual(await run("remoteSearches"), ["x.ts\ny.ts", "b.ts\nsub/", "not on this machine"]);
  });

  test("run commands through operations, with prefix and hook", async () => {
    const { good, bad, late, seen, isTold } = await run<{
      good: Result;
      bad: Result;
      late: Result;
      seen: unknown[];
      isTold: boolean;
    }>("remoteBash");
    assert.equal(text(good), "half and half");
    assert.notEqual(good.isError, true);
    assert.equal(text(bad), "half and half\n\n[exit status 7]");
    assert.equal(bad.isError, true);
    assert.match(text(late), /timed out after 1 s/);
    assert.deepEqual(seen[0], ["set -u\ngood\n:", "/farther", 5, "yes"]);
    assert.ok(isTold);
  });

  test("local operations give exit codes, and end what is late or aborted", async () => {
    assert.deepEqual(await run("localOperations"), {
      ok: { exitCode: 0 },
      failed: { exitCode: 4 },
      killed: { exitCode: 137 },
      late: "timeout:0.05",
      aborted: "aborted",
      output: "thing 2\n",
    });
  });

  test("changes of one file wait for one another", async () => {
    const [one, , , order] = await run<[number, null, null, string[]]>("queue");
    assert.equal(one, 1);
    assert.deepEqual(
      order.filter((step) => step !== "other"),
      ["one begins", "one ends", "two"],
    );
    assert.ok(order.indexOf("other") < order.indexOf("one ends"));
  });

  test("output that is too long is kept in the extension's storage", async () => {
    const old = guest.folder.file("data/output/bash-0000.txt", "of another day");
    utimesSync(old, new Date(0), new Date(0));
    const { truncated, fullOutputPath } = await run<{ truncated: boolean; fullOutputPath: string }>("spill");
    assert.equal(truncated, true);
    assert.ok(fullOutputPath.startsWith(`${guest.folder.path}/data/output/`), fullOutputPath);
    assert.equal(readFileSync(fullOutputPath, "utf8").split("\n").length, 5001);
    assert.equal(existsSync(old), false);
  });
});
