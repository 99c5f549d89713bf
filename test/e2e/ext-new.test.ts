/** `xdev ext new` and `xdev ext types` of the compiled program. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { describe, test } from "node:test";
import { parseManifest } from "../../src/extensions/manifest.ts";
import { Folder } from "../support/folder.ts";
import { xdev } from "../support/xdev.ts";

function optionsOf(folder: Folder) {
  return { cwd: folder.path, env: { HOME: folder.path, XDEV_DATA_DIR: `${folder.path}/data` } };
}

/** Everything in a folder that `ext new` could have left. */
const left = (folder: Folder) => readdirSync(folder.path).filter((name) => name !== "data");

describe("xdev ext new", () => {
  for (const [language, main, files] of [
    ["ts", "index.ts", ["README.md", "index.ts", "package.json", "test.yml", "tsconfig.json", "xdev.d.ts"]],
    ["python", "my-thing.py", ["README.md", "my-thing.py", "my-thing.test.yml"]],
    ["sh", "my-thing.sh", ["README.md", "my-thing.sh", "my-thing.test.yml"]],
  ] as const) {
    test(`--lang ${language} writes an extension whose test passes at once, and says what to do next`, async () => {
      using folder = new Folder();
      const options = optionsOf(folder);
      const outcome = await xdev(["ext", "new", "my-thing", "--lang", language, "--json"], options);
      assert.deepEqual([outcome.status, outcome.stderr], [0, ""]);
      const made = JSON.parse(outcome.stdout);
      assert.deepEqual(
        [made.name, made.language, made.folder],
        ["my-thing", language, `${folder.path}/my-thing`],
      );
      assert.deepEqual(readdirSync(made.folder).sort(), [...files].sort());
      assert.equal(made.main, `${folder.path}/my-thing/${main}`);
      for (const file of files) {
        assert.doesNotMatch(readFileSync(`${made.folder}/${file}`, "utf8"), /my-extension/, file);
      }
      const isProgram = (statSync(made.main).mode & 0o111) !== 0;
      assert.equal(isProgram, language !== "ts");
      // What it says next is a command line that works.
      const [, , , path = ""] = made.next[0].split(" ");
      const tested = await xdev(["ext", "test", path], options);
      assert.equal(tested.status, 0, tested.stdout + tested.stderr);
      assert.match(tested.stdout, /, 0 failed$/m);
      assert.equal(existsSync(`${folder.path}/data`), false);
    });
  }

  test("writes TypeScript unless it is told otherwise, with a manifest that declares what it needs", async () => {
    using folder = new Folder();
    folder.file("src/x", "");
    const outcome = await xdev(["ext", "new", "notes2", "--dir", "src"], optionsOf(folder));
    assert.equal(outcome.status, 0, outcome.stderr);
    assert.match(
      outcome.stdout,
      /^made \.\/src\/notes2: .*\ntry it, .*:\n {2}xdev ext test \.\/src\/notes2\n/,
    );
    const text = readFileSync(`${folder.path}/src/notes2/package.json`, "utf8");
    assert.equal(JSON.parse(text).name, "notes2");
    const manifest = parseManifest(text, "package.json");
    assert.deepEqual(manifest.extensions, ["./index.ts"]);
    assert.ok(manifest.permissions?.session);
  });

  test("refuses what is there already, whatever it is, and changes nothing of it", async () => {
    using folder = new Folder();
    folder.file("taken/mine", "precious");
    folder.file("file", "precious");
    mkdirSync(`${folder.path}/empty`);
    symlinkSync("nowhere", `${folder.path}/link`);
    const before = left(folder);
    for (const name of ["taken", "file", "empty", "link"]) {
      const outcome = await xdev(["ext", "new", name], optionsOf(folder));
      assert.equal(outcome.status, 2, name);
      assert.match(outcome.stderr, /is there already\n {2}take another name/);
    }
    assert.deepEqual(left(folder), before);
    assert.deepEqual(readdirSync(`${folder.path}/empty`), []);
    assert.equal(readFileSync(`${folder.path}/taken/mine`, "utf8"), "precious");
  });

  test("refuses a name that can't be one, and a folder that is none", async () => {
    using folder = new Folder();
    for (const name of [
      "",
      ".",
      "..",
      "a/b",
      "../x",
      "Notes",
      "1st",
      "a b",
      "ü",
      "x".repeat(41),
      "a\u001b[31m",
    ]) {
      const outcome = await xdev(["ext", "new", name], optionsOf(folder));
      assert.equal(outcome.status, 2, JSON.stringify(name));
      assert.match(outcome.stderr, /can't be the name of an extension\n {2}it takes/);
      assert.ok(!outcome.stderr.includes("\u001b"));
    }
    for (const words of [["--dir", "nowhere"], ["--lang", "perl"], []]) {
      const outcome = await xdev(
        ["ext", "new", ...(words.length > 0 ? ["fine"] : []), ...words],
        optionsOf(folder),
      );
      assert.equal(outcome.status, 2, words.join(" "));
    }
    assert.deepEqual(left(folder), []);
  });

  test("leaves nothing where it can't write, and says why", {
    skip: existsSync("/proc/self") ? false : "needs a folder in which nobody can write",
  }, async () => {
    using folder = new Folder();
    const outcome = await xdev(["ext", "new", "fine", "--dir", "/proc"], optionsOf(folder));
    assert.equal(outcome.status, 1);
    assert.match(outcome.stderr, /can't make \/proc\/fine/);
    assert.deepEqual(
      readdirSync("/proc").filter((name) => name.startsWith("fine")),
      [],
    );
  });
});

describe("xdev ext types", () => {
  test("prints one file, or writes it over the old one", async () => {
    using folder = new Folder();
    const printed = await xdev(["ext", "types"], optionsOf(folder));
    assert.deepEqual([printed.status, printed.stderr], [0, ""]);
    writeFileSync(`${folder.path}/xdev.d.ts`, "// old");
    const written = await xdev(["ext", "types", "--out", "xdev.d.ts"], optionsOf(folder));
    assert.deepEqual([written.status, written.stdout], [0, ""]);
    assert.equal(readFileSync(`${folder.path}/xdev.d.ts`, "utf8"), printed.stdout);
    assert.deepEqual(left(folder), ["xdev.d.ts"]);
  });

  test("writes nothing over a file that is none for types", async () => {
    using folder = new Folder();
    folder.file("index.ts", "mine");
    const outcome = await xdev(["ext", "types", "--out", "index.ts"], optionsOf(folder));
    assert.equal(outcome.status, 2);
    assert.equal(readFileSync(`${folder.path}/index.ts`, "utf8"), "mine");
  });
});
