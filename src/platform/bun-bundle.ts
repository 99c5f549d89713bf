/**
 * `Bun.build`, reduced to a linker. What must hold: nothing of the bundled code runs, Bun reads none of the extension's
 * files by itself, and no configuration of any folder has a say. Hence every file lives in a plugin namespace of our
 * own (Bun's resolver, which knows tsconfig paths, `imports` and `browser` maps, never sees it), macros are off, the
 * environment is not inlined, and what Bun would take from a tsconfig is given here.
 */
import type { OnLoadResult, PluginBuilder } from "bun";
import { XdevError } from "../base/errors.ts";
import { withTimeout } from "../base/time.ts";
import type { BundleHooks, BundleOutput } from "./index.ts";

const NAMESPACE = "xdev";

/** Bun links on a thread of its own, which can't be ended: this bounds how long an extension is waited for. */
const TIMEOUT_MS = 15_000;

/**
 * Links. The process must not be in a folder that it does not trust: Bun parses the package.json and tsconfig.json of the
 * working directory (src/base/start-folder.ts).
 */
export async function bundle(entry: string, hooks: BundleHooks): Promise<BundleOutput> {
  // Bun keeps only the text of what a hook throws: the error itself is kept here.
  let refusal: unknown;
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      refusal ??= error;
      throw error;
    }
  };
  const setup = (build: PluginBuilder) => {
    build.onResolve({ filter: /.*/ }, (args) => {
      if (args.kind.startsWith("entry-point")) return { path: entry, namespace: NAMESPACE };
      return guard(async () => {
        const kind = args.kind.startsWith("require") ? "require" : "import";
        const found = await hooks.resolve(args.path, args.importer, kind);
        return "path" in found
          ? { path: found.path, namespace: NAMESPACE }
          : { path: found.name ?? args.path, external: true };
      });
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) =>
      guard(async (): Promise<OnLoadResult> => {
        // Bun writes `__dirname` and `__filename` out by itself.
        const { contents, loader } = await hooks.load(args.path);
        return { contents, loader };
      }),
    );
    build.onLoad({ filter: /.*/ }, (args) =>
      guard(async (): Promise<OnLoadResult> => {
        throw new XdevError("bundle-refused", `${args.path}: the bundler tried to read a file by itself`);
      }),
    );
  };

  try {
    const work = Bun.build({
      entrypoints: [entry],
      root: "/",
      tsconfig: "/dev/null",
      target: "browser",
      format: "esm",
      splitting: false,
      minify: false,
      sourcemap: "external",
      env: "disable",
      macros: false,
      packages: "bundle",
      jsx: { runtime: "automatic", importSource: "react", development: false },
      // Not a replacement: it undoes the ones that the browser target makes.
      define: { "process.env.NODE_ENV": "process.env.NODE_ENV", "process.browser": "process.browser" },
      throw: false,
      plugins: [{ name: "xdev", setup }],
    } as Parameters<typeof Bun.build>[0]);
    const result = await withTimeout(work, TIMEOUT_MS, "bundling");
    if (refusal !== undefined) throw refusal;
    if (!result.success) throw failure(result.logs);
    const code = result.outputs.find((output) => output.kind === "entry-point");
    const map = result.outputs.find((output) => output.kind === "sourcemap");
    if (!code || result.outputs.length > 2) {
      throw new XdevError("bundle-refused", `${entry}: the bundle would be more than one file`);
    }
    return { code: await code.text(), map: map ? plainMap(await map.text()) : "" };
  } catch (error) {
    throw refusal ?? (error instanceof XdevError ? error : asFailure(entry, error));
  }
}

function failure(logs: (BuildMessage | ResolveMessage)[]): XdevError {
  const errors = logs.filter((log) => log.level === "error");
  const shown = errors.find((log) => log.position?.namespace === NAMESPACE) ?? errors[0];
  const at = shown?.position;
  const place = at?.file ? `${at.file}:${at.line}:${at.column}: ` : "";
  return new XdevError("bundle-failed", `${place}${shown?.message ?? "the bundler gave no reason"}`, {
    hint: "Correct the source and try again.",
  });
}

function asFailure(entry: string, error: unknown): XdevError {
  const text = error instanceof Error ? error.message : String(error);
  return new XdevError("bundle-failed", `${entry}: ${text}`, { cause: error });
}

/** Bun writes sources as `<namespace>:<path>`; and its text goes without the sources' own, which the caller has. */
function plainMap(text: string): string {
  const map = JSON.parse(text) as { sources: string[]; mappings: string };
  const prefix = `${NAMESPACE}:`;
  const sources = map.sources.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name));
  return JSON.stringify({ version: 3, sources, names: [], mappings: map.mappings });
}
