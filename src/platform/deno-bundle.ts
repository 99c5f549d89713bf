/**
 * esbuild as a linker, for Deno. The same must hold as in `bun-bundle.ts`: nothing of the bundled code runs, esbuild
 * reads none of the extension's files by itself (all of them live in a plugin namespace), no tsconfig, package.json or
 * environment has a say, and nothing is left behind.
 */
import type { Message, PluginBuild } from "esbuild";
import { XdevError } from "../base/errors.ts";
import { withTimeout } from "../base/time.ts";
import { withEsbuild } from "./esbuild.ts";
import type { BundleHooks, BundleOutput, LoadedFile } from "./index.ts";

const NAMESPACE = "xdev";

/** As in `BundleHooks`, with how the import is written: packages may answer `require` with another file. */
type Resolve = (
  specifier: string,
  importer: string,
  kind: "import" | "require",
) => ReturnType<BundleHooks["resolve"]>;

/** 20,000 arrow functions within each other keep esbuild busy for minutes, so its process is ended instead. */
const TIMEOUT_MS = 15_000;

/** What the sandbox's checker or the guest's engine does not know yet is written in older terms. */
const LOWERED = { decorators: false, using: false };

export function bundle(entry: string, hooks: BundleHooks): Promise<BundleOutput> {
  return withEsbuild((esbuild) => link(esbuild, entry, hooks));
}

async function link(
  esbuild: typeof import("esbuild"),
  entry: string,
  hooks: BundleHooks,
): Promise<BundleOutput> {
  let refusal: unknown;
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };
  const resolve: Resolve = hooks.resolve;

  const setup = (build: PluginBuild) => {
    build.onResolve({ filter: /.*/ }, (args) => {
      if (args.kind === "entry-point") return { path: entry, namespace: NAMESPACE };
      return guard(async () => {
        const kind = args.kind.startsWith("require") ? "require" : "import";
        const found = await resolve(args.path, args.importer, kind);
        return "path" in found
          ? { path: found.path, namespace: NAMESPACE }
          : { path: found.name ?? args.path, external: true };
      });
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) =>
      guard(async () => withNames(esbuild, args.path, await hooks.load(args.path))),
    );
    build.onLoad({ filter: /.*/ }, (args) =>
      guard(async () => {
        throw new XdevError("bundle-refused", `${args.path}: the bundler tried to read a file by itself`);
      }),
    );
  };

  try {
    const work = esbuild.build({
      entryPoints: [entry],
      absWorkingDir: "/",
      outfile: "/bundle.js",
      write: false,
      bundle: true,
      platform: "neutral",
      format: "esm",
      target: "esnext",
      supported: LOWERED,
      splitting: false,
      minify: false,
      sourcemap: "external",
      sourcesContent: false,
      legalComments: "none",
      charset: "utf8",
      jsx: "automatic",
      jsxImportSource: "react",
      jsxDev: false,
      tsconfigRaw: "{}",
      logLevel: "silent",
      plugins: [{ name: "xdev", setup }],
    });
    const result = await withTimeout(work, TIMEOUT_MS, `bundling ${entry}`).catch(async (error: unknown) => {
      if (error instanceof XdevError && error.code === "timeout") await esbuild.stop();
      throw error;
    });
    if (refusal !== undefined) throw refusal;
    const code = result.outputFiles.find((file) => file.path.endsWith(".js"));
    const map = result.outputFiles.find((file) => file.path.endsWith(".map"));
    if (!code || result.outputFiles.length > 2) {
      throw new XdevError("bundle-refused", `${entry}: the bundle would be more than one file`);
    }
    return { code: code.text, map: map ? plainMap(map.text) : "" };
  } catch (error) {
    throw refusal ?? failure(entry, error);
  }
}

/** esbuild knows replacements for a whole bundle only; ours differ by file. */
async function withNames(
  { transform }: typeof import("esbuild"),
  path: string,
  { contents, loader, names }: LoadedFile,
) {
  if (!names || !/__(?:dir|file)name/.test(contents)) return { contents, loader };
  const { code } = await transform(contents, {
    loader,
    define: names,
    jsx: "preserve",
    target: "esnext",
    charset: "utf8",
    sourcemap: "inline",
    sourcesContent: false,
    sourcefile: path,
    tsconfigRaw: "{}",
    logLevel: "silent",
  }).catch(() => ({ code: undefined }));
  // What does not parse is said by the build.
  if (code === undefined) return { contents, loader };
  return { contents: code, loader: loader.endsWith("x") ? ("jsx" as const) : ("js" as const) };
}

function failure(entry: string, error: unknown): unknown {
  if (error instanceof XdevError) {
    return error.code === "timeout" ? new XdevError("bundle-failed", error.message, { cause: error }) : error;
  }
  const first = (error as { errors?: Message[] }).errors?.[0];
  const text = first?.text ?? (error instanceof Error ? error.message : String(error));
  const at = first?.location;
  // esbuild counts columns from 0, an editor from 1.
  const place = at ? `${withoutNamespace(at.file)}:${at.line}:${at.column + 1}` : entry;
  return new XdevError("bundle-failed", `${place}: ${text}`, {
    hint: "Correct the source and try again.",
    cause: error,
  });
}

function withoutNamespace(name: string): string {
  return name.startsWith(`${NAMESPACE}:`) ? name.slice(NAMESPACE.length + 1) : name;
}

/** esbuild writes sources as `<namespace>:<path>`. */
function plainMap(text: string): string {
  const map = JSON.parse(text) as { sources: string[]; mappings: string };
  const sources = map.sources.map(withoutNamespace);
  return JSON.stringify({ version: 3, sources, names: [], mappings: map.mappings });
}
