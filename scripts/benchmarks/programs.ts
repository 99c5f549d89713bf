/**
 * The programs of the benchmark: ours, pi, and one that does nothing.
 *
 * pi is compiled as it is fastest here. Its command line's plain entry: the Bun entry of its own builds loads Bedrock's SDK
 * and all logins on top, which this task does not use. And split into chunks, so that it reads less of itself.
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const piPackage = join(root, "node_modules", "@earendil-works", "pi-coding-agent");

/** `dist/xdev`, built if it is not there. One that is there is measured as it is: see `newerSource`. */
export function ourBinary(): string {
  const binary = join(root, "dist", "xdev");
  if (existsSync(binary)) return binary;
  // Its output is not the benchmark's, which may be JSON.
  const build = spawnSync(process.execPath, [join(root, "scripts", "build.ts")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (build.status !== 0) throw new Error("dist/xdev is missing and cannot be built");
  return binary;
}

/** A source file that was changed after `binary` was built, if there is one: the figures are then not those of the sources. */
export function newerSource(binary: string): string | undefined {
  const built = statSync(binary).mtimeMs;
  const sources = [...new Bun.Glob("{src,sandbox}/**/*.ts").scanSync(root)];
  return sources.find((file) => statSync(join(root, file)).mtimeMs > built);
}

/** Compiles pi into `folder`, with the files that it reads beside its executable. */
export async function compilePi(folder: string): Promise<string> {
  const binary = await compile(join(piPackage, "dist", "cli.js"), join(folder, "pi"));
  await cp(join(piPackage, "package.json"), join(folder, "package.json"));
  await cp(join(piPackage, "dist", "modes", "interactive", "theme"), join(folder, "theme"), {
    recursive: true,
  });
  return binary;
}

/** What any program costs that is compiled like ours. */
export async function compileEmpty(folder: string): Promise<string> {
  const source = join(folder, "empty.ts");
  await Bun.write(source, "export {};\n");
  return compile(source, join(folder, "empty"));
}

export async function piVersion(): Promise<string> {
  return JSON.parse(await readFile(join(piPackage, "package.json"), "utf8")).version;
}

/** With the flags of `scripts/build.ts`: whatever makes ours faster there must be given to pi here. */
async function compile(entry: string, outfile: string): Promise<string> {
  const result = await Bun.build({
    entrypoints: [entry],
    format: "esm",
    minify: true,
    bytecode: true,
    splitting: true,
    env: "disable",
    compile: {
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (!result.success) throw new AggregateError(result.logs, `cannot compile ${entry}`);
  return outfile;
}
