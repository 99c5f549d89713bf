/** What an extension seems to use is read off its code, without running it, in bounded time. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bundleExtension } from "../../../sandbox/bundle/index.ts";
import { looksIdle, scanBundle } from "../../../sandbox/permissions/scan.ts";
import { Folder } from "../../support/folder.ts";

/** What is inferred of an extension's source, by way of its real bundle. */
async function inferred(source: string) {
  using folder = new Folder();
  const { source: bundle, imports } = await bundleExtension(folder.file("x.ts", source));
  return looksIdle(bundle, imports) ? {} : scanBundle(bundle, imports);
}

describe("it is inferred", () => {
  test("that who uses nothing asks for nothing", async () => {
    assert.deepEqual(
      await inferred(
        'import { join } from "node:path";\nexport default (pi) => { pi.on("tool_call", () => join("a", "b")); };',
      ),
      {},
    );
  });

  test("which files it reads and writes", async () => {
    const source = `
import { readFileSync, existsSync } from "node:fs";
import * as fs from "fs/promises";
import { join, resolve } from "node:path";
import { homedir, tmpdir } from "node:os";
export default async (pi) => {
  readFileSync("/etc/hosts");
  readFileSync(join(homedir(), ".config", "foo.json"), "utf8");
  existsSync(resolve(process.env.HOME, ".foorc"));
  await fs.writeFile(join(tmpdir(), "foo", name()), "x");
  await fs.readFile(\`notes.txt\`);
  await fs.readFile("../up");
};`;
    assert.deepEqual(await inferred(source), {
      read: ["$CWD", "$CWD/notes.txt", "$HOME/.config/foo.json", "$HOME/.foorc", "/etc/hosts"],
      write: ["$CWD", "$TMP/foo"],
    });
  });

  test("which hosts it talks to, and not which it only seems to", async () => {
    const source = `
export default async (pi) => {
  await fetch("https://api.example.com/v1");
  await fetch(\`http://localhost:\${3000}/x\`);
  await fetch(\`https://\${host}/x\`);
  await fetch(\`https://api.\${region}.example.org/x\`);
  await fetch(\`https://data.example.net/\${id}\`);
  await fetch("http://0x7f.1:8080/");
  await fetch("https://user:pw@cred.example.com");
  const ns = "http://www.w3.org/2000/svg";
  const text = "see https://docs.example.com for more";
};`;
    assert.deepEqual(await inferred(source), {
      net: ["127.0.0.1:8080", "api.example.com", "cred.example.com", "data.example.net"],
    });
  });

  test("which programs it runs", async () => {
    const source = `
import { exec, execFileSync, spawn } from "node:child_process";
import * as cp from "node:child_process";
export default (pi) => {
  exec("git status --short");
  execFileSync("npm", ["test"]);
  spawn("/usr/bin/make");
  cp.spawnSync("docker");
  pi.exec("gh", ["pr", "list"]);
  exec("ls | wc -l");
  pi.exec(computed);
  /x/.exec("no program at all, but it reads like one");
};`;
    const { run } = await inferred(source);
    for (const program of ["git", "npm", "/usr/bin/make", "docker", "gh", "sh"])
      assert.ok(run?.includes(program), program);
  });

  test("that it runs any program if it runs some and none is named", async () => {
    assert.deepEqual(
      await inferred('import { spawn } from "node:child_process";\nexport default () => spawn(x);'),
      { run: ["*"] },
    );
  });

  test("which variables, tools, facts and other things it wants", async () => {
    const source = `
import * as os from "node:os";
export default (pi) => {
  const key = process.env.FOO_TOKEN ?? process.env["BAR"];
  os.hostname(); os.cpus();
  pi.registerTool({ name: "bash", execute() {} });
  pi.registerTool({ name: "mine", execute() {} });
  pi.registerProvider("x", {});
  new WebAssembly.Module(bytes);
};`;
    assert.deepEqual(await inferred(source), {
      env: ["BAR", "FOO_TOKEN"],
      provider: ["*"],
      sys: ["cpu", "hostname"],
      tools: ["bash"],
      wasm: ["*"],
    });
  });
});

describe("hostile code", () => {
  for (const [what, source] of [
    ["nested too deeply", `f(${"[".repeat(200_000)}${"]".repeat(200_000)})`],
    ["no program", "function ( {"],
    [
      "a list of a hundred thousand hosts",
      Array.from({ length: 40_000 }, (_, i) => `"http://h${i}.example.com/"`).join(";"),
    ],
    ["one text of a megabyte", `"http://${"a".repeat(900_000)}"`],
    ["texts that try a pattern's patience", `"http://${"a@".repeat(300_000)}"`],
    ["more than is parsed", `"https://a.com/";${" ".repeat(2_000_000)}`],
    ["a chain of a hundred thousand members", `x${".env".repeat(100_000)}`],
    ["a command of spaces", `exec("${" ".repeat(500_000)}x")`],
  ] as const) {
    test(`that is ${what} is looked at in bounded time, and gives a bounded list`, () => {
      const start = performance.now();
      const permissions = scanBundle(source, ["node:fs", "node:child_process"]);
      assert.ok(performance.now() - start < 5000);
      for (const values of Object.values(permissions)) assert.ok(values.length <= 30);
    });
  }

  test("can't put anything into the request that is no permission", () => {
    const source =
      'exec("git\\u202e;x"); readFile("/a\\n/b"); fetch("http://a b/"); process.env["A B"]; readFile("/x/../../etc")';
    assert.deepEqual(scanBundle(source, ["node:fs"]), { read: ["$CWD"] });
  });
});
