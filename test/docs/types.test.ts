/** The types of `xdev ext types`, as an editor has them: checked by the compiler, without any package of theirs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { refusedExports } from "../../sandbox/guest/host/coding-agent/refused.ts";
import { apiTypes } from "../../src/docs/manual.ts";
import { Folder } from "../support/folder.ts";
import { xdev } from "../support/xdev.ts";
import { completed, GUIDE } from "./guide.ts";
import { files } from "./pages.ts";

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const ERRORS = readFileSync(at("test/fixtures/extension-types/errors.ts"), "utf8");

/** A folder as `xdev ext new` makes one: the types and the settings of the compiler, and no package. */
function project(sources: Record<string, string>): Folder {
  const folder = new Folder();
  folder.file("xdev.d.ts", apiTypes(files));
  folder.file("tsconfig.json", files["templates/ts/tsconfig.json"]!);
  for (const [name, text] of Object.entries(sources)) folder.file(name, text);
  return folder;
}

/** What the compiler says: `file:line code: text`, its explanations left out. */
function check(folder: Folder, ...options: string[]): string[] {
  const outcome = spawnSync(
    at("node_modules/.bin/tsc"),
    ["-p", folder.path, "--pretty", "false", "--skipLibCheck", "false", ...options],
    { encoding: "utf8", cwd: folder.path },
  );
  const said = outcome.stdout.split("\n").filter((line) => /^\S/.test(line));
  assert.ok(outcome.status === 0 || said.length > 0, outcome.stderr);
  return said.map((line) => line.replace(/^(\S+)\((\d+),\d+\): error (TS\d+)/, "$1:$2 $3"));
}

const EXAMPLES = Object.fromEntries(
  Object.entries(files)
    .filter(([path]) => path.startsWith("examples/") && path.endsWith(".ts"))
    .map(([path, text]) => [basename(path), text]),
);

describe("the types of the extension API", () => {
  test("fit every example of the manual, the template, and the examples of the guide", () => {
    using folder = project({
      ...EXAMPLES,
      "template.ts": files["templates/ts/index.ts"]!,
      "quick-start.guide.ts": GUIDE.quickStart,
      "tool.guide.ts": GUIDE.tool,
      "state.guide.ts": GUIDE.state,
      "renderer.guide.ts": GUIDE.renderer,
      "restored.guide.ts": completed("state", "ctx.ui.notify(String(latest?.count));"),
      "drawn.guide.ts": completed(
        "renderer",
        "return new Text(String(message.content), expanded ? 1 : 0, 0);",
      ),
    });
    assert.ok(Object.keys(EXAMPLES).length > 3);
    assert.deepEqual(check(folder), []);
  });

  test("find each mistake at its line, and no other", () => {
    using folder = project({ "errors.ts": ERRORS });
    const expected = ERRORS.split("\n").flatMap((line, index) => {
      const [, text] = /\/\/ error: (.+)$/.exec(line) ?? [];
      return text === undefined ? [] : [{ line: index + 1, text }];
    });
    const said = check(folder);
    for (const { line, text } of expected) {
      const there = said.filter((one) => one.startsWith(`errors.ts:${line} `));
      assert.ok(
        there.some((one) => one.includes(text)),
        `line ${line}, ${text}: ${there.join("; ") || "nothing"}`,
      );
    }
    const lines = new Set(expected.map(({ line }) => line));
    const others = said.filter((one) => !lines.has(Number(/^errors\.ts:(\d+) /.exec(one)?.[1])));
    assert.deepEqual(others, []);
  });

  test("stand behind the packages that are installed: typebox, pi-tui, pi-ai, and those of Node", () => {
    using folder = project({
      ...EXAMPLES,
      "own.ts": `
import { Type, type TSchema } from "typebox";
import { readFileSync } from "node:fs";
import { Text } from "@earendil-works/pi-tui";
import { StringEnum, type Usage } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "xdev";
export const schema: TSchema = Type.Interface([], {}); // only the package knows it
export const length: number = readFileSync("x", "utf8").nothing;
export const kind = StringEnum(["a", "b"]);
export const usage = (given: Usage) => given.cacheWrite1h;
export default (pi: ExtensionAPI) => {
  pi.registerMessageRenderer("x", () => new Text("x", 0, 0));
  pi.registerTool({
    name: "x", label: "x", description: "x",
    parameters: Type.Object({ path: Type.String(), n: Type.Optional(Type.Number()) }),
    async execute(_id, { path, n }) {
      path.nothing;
      n.toFixed();
      return "done";
    },
  });
};`,
    });
    symlinkSync(at("node_modules"), `${folder.path}/node_modules`);
    const said = check(folder, "--types", "node", "--skipLibCheck", "true");
    assert.deepEqual(
      said.map((line) => line.replace(/^(\S+ TS\d+).*/, "$1")),
      ["own.ts:8 TS2339", "own.ts:17 TS2339", "own.ts:18 TS18048"],
      said.join("\n"),
    );
  });

  test("have every name that the packages of the host give, but those that throw, and no other", async () => {
    using folder = new Folder();
    const modules = {
      agent: "xdev",
      ai: "@earendil-works/pi-ai",
      tui: "@earendil-works/pi-tui",
      core: "@earendil-works/pi-agent-core",
    };
    const names = Object.keys(modules);
    const extension = folder.file(
      "names.ts",
      `${Object.entries(modules)
        .map(([name, module]) => `import * as ${name} from "${module}";`)
        .join("\n")}
export default (pi) => pi.registerCommand("names", { handler: () => JSON.stringify([${names.join(", ")}].map(Object.keys)) });`,
    );
    const outcome = await xdev(["-p", "/names", "-e", extension], {
      env: { XDEV_DATA_DIR: `${folder.path}/data` },
    });
    const given: string[][] = JSON.parse(outcome.stdout);
    assert.equal(given.length, names.length);
    const refused = Object.keys(refusedExports());
    const uses = Object.values(modules).map((module, index) => {
      const own = given[index]!.filter(
        (name) => name !== "default" && (index > 0 || !refused.includes(name)),
      );
      assert.ok(own.length > 5);
      const other =
        index === 0
          ? refused.map((name) => `// @ts-expect-error\nexport const no${name} = m${index}.${name};`)
          : [];
      return [
        `import * as m${index} from "${module}";`,
        `export const u${index} = [${own.map((name) => `m${index}.${name}`).join(",\n")}];`,
        ...other,
      ].join("\n");
    });
    using project_ = project({ "names.ts": uses.join("\n") });
    assert.deepEqual(check(project_), []);
    // What they declare is there.
    const declared = [...apiTypes(files).matchAll(/^declare module "xdev:(\w+)" \{([\s\S]*?)^\}/gm)];
    assert.ok(declared.length > 5);
    for (const [, module = "", text = ""] of declared) {
      if (module === "schema") continue;
      const there = new Set(given[names.indexOf(module)]);
      const single = [...text.matchAll(/^ {2}export (?:class|function|const) (\w+)/gm)].map(
        (match) => match[1]!,
      );
      const lists = [...text.matchAll(/^ {2}export const\n([^;]*);$/gm)].flatMap(
        ([, list = ""]) => list.match(/\w+(?=: any)/g) ?? [],
      );
      const values = [...single, ...lists];
      assert.deepEqual(
        values.filter((name) => !there.has(name)),
        [],
        module,
      );
    }
  });

  test("have every member of pi, ctx and ctx.ui that there is, and no other", async () => {
    using folder = new Folder();
    const extension = folder.file(
      "members.ts",
      `export default (pi) => {
  let ofEvent;
  pi.on("session_start", (event, ctx) => { ofEvent = Object.keys(ctx); });
  pi.registerCommand("members", { handler: (args, ctx) => JSON.stringify({
    ExtensionAPI: Object.keys(pi), ExtensionContext: ofEvent, ExtensionCommandContext: Object.keys(ctx),
    ExtensionUIContext: Object.keys(ctx.ui), ReadonlySessionManager: Object.keys(ctx.sessionManager),
  }) });
};`,
    );
    const outcome = await xdev(["-p", "/members", "-e", extension], {
      env: { XDEV_DATA_DIR: `${folder.path}/data` },
    });
    const members: Record<string, string[]> = JSON.parse(outcome.stdout);
    const types = apiTypes(files);
    for (const [name, there] of Object.entries(members)) {
      const [, base, body = ""] =
        new RegExp(`^  export interface ${name} (?:extends (\\w+) )?\\{\\n([\\s\\S]*?)^  \\}`, "m").exec(
          types,
        ) ?? [];
      const own = [...body.matchAll(/^ {4}(?:readonly )?(\w+)[?<(:]/gm)].map((match) => match[1]!);
      const declared = new Set([...own, ...(base ? members[base]! : [])]);
      assert.ok(own.length > 5, name);
      assert.deepEqual(
        there.filter((member) => !declared.has(member)),
        [],
        `${name} in the types`,
      );
      assert.deepEqual(
        own.filter((member) => !there.includes(member)),
        [],
        `${name} in the sandbox`,
      );
    }
  });

  test("fit the examples of the agent of this family", () => {
    using folder = project({});
    const examples = at("node_modules/@earendil-works/pi-coding-agent/examples/extensions");
    for (const name of readdirSync(examples).filter((one) => one.endsWith(".ts"))) {
      cpSync(`${examples}/${name}`, `${folder.path}/${name}`);
    }
    const wrong = new Set(check(folder, "--noImplicitAny", "false").map((line) => line.split(":")[0]));
    // `require` is a matter of Node's own types.
    assert.deepEqual([...wrong].sort(), ["notify.ts"]);
  });
});
