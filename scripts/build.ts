/**
 * Compiles the program into one executable, `dist/xdev`, for this machine. The traps of a compiled Bun binary are shut
 * here: it reads no `.env`, `bunfig.toml`, `tsconfig.json` or `package.json` of the folder that it is started in.
 *
 * Usage: scripts/build [--outfile FILE]
 */
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { GUEST_SOURCES, type GuestSource } from "../sandbox/guest/packages.ts";
import { readDocFiles } from "../src/platform/docs.ts";
import { buildGuestSource } from "../src/platform/guest-build.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { outfile: { type: "string", default: "dist/xdev" } } });
const outfile = resolve(root, values.outfile);

/** A digest of everything that goes into the executable: what caches made by another build are told apart by. */
async function sourceDigest(): Promise<string> {
  const hash = createHash("sha256");
  const files = [...new Bun.Glob("{src,sandbox}/**/*.ts").scanSync(root), "bun.lock", "package.json"].sort();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

const start = performance.now();
const sources: Record<string, GuestSource> = {};
for (const name of Object.keys(GUEST_SOURCES)) sources[name] = await buildGuestSource(name);
/** Modules that are made here, as text: `xdev:guest-sources`, `xdev:docs`. */
const embedded: Record<string, string> = {
  "guest-sources": `export const sources = ${JSON.stringify(sources)};`,
  docs: `export const files = ${JSON.stringify(await readDocFiles())};`,
};

await mkdir(dirname(outfile), { recursive: true });
process.chdir(root);
const result = await Bun.build({
  entrypoints: ["./src/main.ts", "./sandbox/guest/boot.ts"],
  format: "esm",
  minify: true,
  bytecode: true,
  // Each command reads its own chunks only.
  splitting: true,
  env: "disable",
  define: { XDEV_COMPILED: "true", XDEV_BUILD: JSON.stringify(await sourceDigest()) },
  // The bundler of the Deno side.
  external: ["esbuild"],
  plugins: [
    {
      // The parser of the command line can start programs as subcommands. Ours never does, and loading that costs 3 ms.
      name: "no-subcommand-programs",
      setup(build) {
        build.onLoad({ filter: /[\\/]commander[\\/]lib[\\/]command\.js$/ }, async ({ path }) => {
          const text = await readFile(path, "utf8");
          const unused = "import childProcess from 'node:child_process';";
          if (!text.includes(unused)) throw new Error(`${path} is not the version that this build knows`);
          return { contents: text.replace(unused, "const childProcess = undefined;"), loader: "js" };
        });
      },
    },
    {
      name: "embedded",
      setup(build) {
        build.onResolve({ filter: /^xdev:[a-z-]+$/ }, ({ path }) => ({
          path: path.slice("xdev:".length),
          namespace: "xdev",
        }));
        build.onLoad({ filter: /.*/, namespace: "xdev" }, ({ path }) => {
          const contents = embedded[path];
          if (contents === undefined) throw new Error(`this build makes no module xdev:${path}`);
          return { contents, loader: "js" };
        });
      },
    },
  ],
  compile: {
    outfile,
    autoloadDotenv: false,
    autoloadBunfig: false,
    autoloadTsconfig: false,
    autoloadPackageJson: false,
  },
});
if (!result.success) {
  for (const message of result.logs) console.error(message);
  process.exit(1);
}
console.log(
  `built ${outfile} (${Math.round(Bun.file(outfile).size / 1e6)} MB) in ${Math.round(performance.now() - start)} ms`,
);
