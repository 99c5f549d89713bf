/**
 * How the program is compiled into one executable, for the build and for the benchmarks that need the same. The traps of a
 * compiled Bun binary are shut here: it reads no `.env`, `bunfig.toml`, `tsconfig.json` or `package.json` of the folder
 * that it is started in.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";
import { GUEST_SOURCES, type GuestSource } from "../sandbox/guest/packages.ts";
import { readDocFiles } from "../src/platform/docs.ts";
import { buildGuestSource } from "../src/platform/guest-build.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Entries of the workers that the program starts: in an executable they are found by these paths alone. */
export const WORKERS = ["./sandbox/guest/boot.ts", "./sandbox/bundle/worker.ts"];

/** Compiles `entrypoints` (paths from the root, the program's first) into the file `outfile`. Throws what the bundler says. */
export async function compile(entrypoints: readonly string[], outfile: string): Promise<void> {
  process.chdir(root);
  const result = await Bun.build({
    entrypoints: [...entrypoints],
    root: ".",
    format: "esm",
    minify: true,
    bytecode: true,
    // Each command reads its own chunks only.
    splitting: true,
    env: "disable",
    define: { XDEV_COMPILED: "true", XDEV_BUILD: JSON.stringify(await sourceDigest()) },
    // The bundler of the Deno side.
    external: ["esbuild"],
    plugins: [lightCommander, lightOpenai, embed(await embeddedModules())],
    compile: {
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (!result.success) throw new AggregateError(result.logs, `cannot compile ${entrypoints[0]}`);
}

/** A digest of everything that goes into the executable: what caches made by another build are told apart by. */
async function sourceDigest(): Promise<string> {
  const hash = createHash("sha256");
  const files = [...new Bun.Glob("{src,sandbox}/**/*.ts").scanSync(root), "bun.lock", "package.json"].sort();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

/** Modules that are made here, as text: `xdev:guest-sources`, `xdev:docs`. */
async function embeddedModules(): Promise<Record<string, string>> {
  // Each is a chunk of its own: two megabytes of text that a run needs little of.
  const sources: [name: string, module: string, text: string][] = [];
  for (const name of Object.keys(GUEST_SOURCES)) {
    const source: GuestSource = await buildGuestSource(name);
    sources.push([name, `guest-source-${sources.length}`, `export default ${JSON.stringify(source)};`]);
  }
  const table = sources.map(([name, module]) => `${JSON.stringify(name)}: () => import("xdev:${module}")`);
  return {
    "guest-sources": `export const sources = { __proto__: null, ${table.join(", ")} };`,
    ...Object.fromEntries(sources.map(([, module, text]) => [module, text])),
    docs: `export const files = ${JSON.stringify(await readDocFiles())};`,
  };
}

function embed(modules: Record<string, string>): BunPlugin {
  return {
    name: "embedded",
    setup(build) {
      build.onResolve({ filter: /^xdev:[a-z0-9-]+$/ }, ({ path }) => ({
        path: path.slice("xdev:".length),
        namespace: "xdev",
      }));
      build.onLoad({ filter: /.*/, namespace: "xdev" }, ({ path }) => {
        const contents = modules[path];
        if (contents === undefined) throw new Error(`this build makes no module xdev:${path}`);
        return { contents, loader: "js" };
      });
    },
  };
}

/** What the parser of the command line imports at once and ours never uses, or not before it prints help: that costs 3 ms and 1 ms. */
const COMMANDER_IMPORTS = {
  "command.js": {
    "import childProcess from 'node:child_process';": "const childProcess = undefined;",
  },
  "help.js": {},
} as const;
const UTIL_IMPORT = "import { stripVTControlCharacters } from 'node:util';";
const UTIL_LATER =
  "const stripVTControlCharacters = (text) => process.getBuiltinModule('node:util').stripVTControlCharacters(text);";

const lightCommander: BunPlugin = {
  name: "light-commander",
  setup(build) {
    build.onLoad({ filter: /[\\/]commander[\\/]lib[\\/](?:command|help)\.js$/ }, async ({ path }) => {
      let text = await readFile(path, "utf8");
      const changes = {
        ...COMMANDER_IMPORTS[basename(path) as keyof typeof COMMANDER_IMPORTS],
        [UTIL_IMPORT]: UTIL_LATER,
      };
      for (const [line, instead] of Object.entries(changes)) {
        if (!text.includes(line)) throw new Error(`${path} is not the version that this build knows`);
        text = text.replace(line, instead);
      }
      return { contents: text, loader: "js" };
    });
  },
};

/**
 * Of OpenAI's SDK only conversations are used. The client makes one object for each thing that the service can do when it is made
 * itself; what ours never calls is a class with nothing in it, which saves a start 200 KB of code. What is missing is seen by
 * the first test that calls it: there is no such method.
 */
const USED_RESOURCES = new Set(["chat", "responses", "shared", "index"]);

const lightOpenai: BunPlugin = {
  name: "light-openai",
  setup(build) {
    build.onLoad(
      { filter: /[\\/]openai[\\/]resources[\\/]([a-z-]+)(?:[\\/]\1)?\.mjs$/ },
      async ({ path }) => {
        if (USED_RESOURCES.has(basename(path, ".mjs"))) return undefined;
        const text = await readFile(path, "utf8");
        const classes = [...text.matchAll(/^export class (\w+)/gm)].map(([, name]) => name);
        if (classes.length === 0) throw new Error(`${path} is not the version that this build knows`);
        return { contents: classes.map((name) => `export class ${name} {}`).join("\n"), loader: "js" };
      },
    );
  },
};
