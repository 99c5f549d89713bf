/**
 * `Bun.build`, reduced to a linker. What must hold: nothing of the bundled code runs, Bun reads none of the extension's
 * files by itself, and no configuration of any folder has a say. Hence every file lives in a plugin namespace of our
 * own (Bun's resolver, which knows tsconfig paths, `imports` and `browser` maps, never sees it), macros are off, the
 * environment is not inlined, and what Bun would take from a tsconfig is given here.
 */
import type { OnLoadResult, PluginBuilder } from "bun";
import { XdevError } from "../base/errors.ts";
import type { BundleHooks, BundleOutput } from "./index.ts";

const NAMESPACE = "xdev";

/** As in `BundleHooks`, with how the import is written: packages may answer `require` with another file. */
type Resolve = (
  specifier: string,
  importer: string,
  kind: "import" | "require",
) => ReturnType<BundleHooks["resolve"]>;

export async function bundle(entry: string, hooks: BundleHooks): Promise<BundleOutput> {
  const first = await attempt(entry, hooks, () => {});
  if (first.output) return first.output;
  if (!first.foreign) throw first.error;
  // Bun also parses package.json and tsconfig.json of the *working directory*, and a broken one there fails the build.
  // An agent is started in any repository, so bundle as if started in `/`. Bun takes the directory before it asks the
  // first hook: that is how long the change lasts.
  const second = await retryElsewhere(entry, hooks);
  if (second.output) return second.output;
  throw second.error;
}

interface Attempt {
  output?: BundleOutput;
  error?: unknown;
  /** Whether all complaints are about files that no hook gave to Bun. */
  foreign?: boolean;
}

let turn: Promise<unknown> = Promise.resolve();

function retryElsewhere(entry: string, hooks: BundleHooks): Promise<Attempt> {
  const run = async (): Promise<Attempt> => {
    const cwd = process.cwd();
    let away = true;
    const back = () => {
      if (away) process.chdir(cwd);
      away = false;
    };
    process.chdir("/");
    try {
      return await attempt(entry, hooks, back);
    } finally {
      back();
    }
  };
  const result = turn.then(run, run);
  turn = result.catch(() => {});
  return result;
}

async function attempt(entry: string, hooks: BundleHooks, onStart: () => void): Promise<Attempt> {
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
  const resolve: Resolve = hooks.resolve;

  const setup = (build: PluginBuilder) => {
    build.onResolve({ filter: /.*/ }, (args) => {
      onStart();
      if (args.kind.startsWith("entry-point")) return { path: entry, namespace: NAMESPACE };
      return guard(async () => {
        const kind = args.kind.startsWith("require") ? "require" : "import";
        const found = await resolve(args.path, args.importer, kind);
        return "path" in found
          ? { path: found.path, namespace: NAMESPACE }
          : { path: args.path, external: true };
      });
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, (args) =>
      guard(async (): Promise<OnLoadResult> => hooks.load(args.path)),
    );
    build.onLoad({ filter: /.*/ }, (args) =>
      guard(async (): Promise<OnLoadResult> => {
        throw new XdevError("bundle-refused", `${args.path}: the bundler tried to read a file by itself`);
      }),
    );
  };

  try {
    const result = await Bun.build({
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
    if (refusal !== undefined) return { error: refusal };
    if (!result.success) return failure(result.logs);
    const code = result.outputs.find((output) => output.kind === "entry-point");
    const map = result.outputs.find((output) => output.kind === "sourcemap");
    if (!code || result.outputs.length > 2) {
      return { error: new XdevError("bundle-refused", `${entry}: the bundle would be more than one file`) };
    }
    return { output: { code: await code.text(), map: map ? plainMap(await map.text()) : "" } };
  } catch (error) {
    return { error: refusal ?? asFailure(entry, error) };
  }
}

function failure(logs: (BuildMessage | ResolveMessage)[]): Attempt {
  const errors = logs.filter((log) => log.level === "error");
  const shown = errors.find((log) => log.position?.namespace === NAMESPACE) ?? errors[0];
  const at = shown?.position;
  const place = at?.file ? `${at.file}:${at.line}:${at.column}: ` : "";
  return {
    error: new XdevError("bundle-failed", `${place}${shown?.message ?? "the bundler gave no reason"}`, {
      hint: "Correct the source and try again.",
    }),
    foreign: errors.length > 0 && errors.every((log) => log.position?.namespace === "file"),
  };
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
