/**
 * What guests need under Deno, where nothing is compiled: boot, the extension host and our own texts for the compartment, built
 * with esbuild when they are first needed. Only our own sources and dependencies go through here.
 */
import type { BuildOptions, PluginBuild } from "esbuild";
import type { HostProgram } from "../../sandbox/host/client.ts";
import { startProgram } from "./deno-program.ts";
import { withEsbuild } from "./esbuild.ts";
import { type Decide, type Link, root } from "./guest-build.ts";

const texts = new Map<string, Promise<string>>();

/** The text of boot, a module without imports. */
export const bootText = (): Promise<string> => built("sandbox/guest/boot.ts");

function built(entry: string): Promise<string> {
  let text = texts.get(entry);
  if (!text) {
    text = build({
      entryPoints: [`${root}${entry}`],
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
    });
    texts.set(entry, text);
  }
  return text;
}

async function build(options: BuildOptions): Promise<string> {
  const result = await withEsbuild((esbuild) =>
    esbuild.build({
      absWorkingDir: root,
      bundle: true,
      write: false,
      minify: true,
      target: "esnext",
      legalComments: "none",
      charset: "utf8",
      logLevel: "silent",
      external: ["node:*"],
      tsconfigRaw: "{}",
      ...options,
    }),
  );
  const text = result.outputFiles?.[0]?.text;
  if (text === undefined) throw new Error("a build gave nothing");
  return text;
}

/** For `buildGuestSource`. */
export const linkWithEsbuild: Link = (entry, decide) =>
  build({
    ...(typeof entry === "string"
      ? { entryPoints: [entry] }
      : { stdin: { contents: entry.text, resolveDir: root } }),
    format: "cjs",
    platform: "browser",
    external: [],
    plugins: [{ name: "guest", setup: (build) => resolveWith(build, decide) }],
  });

/** What the plugin asks esbuild itself is not asked again. */
const ASKED = { asked: true };

function resolveWith(build: PluginBuild, decide: Decide): void {
  build.onResolve({ filter: /.*/ }, (args) => {
    if (args.kind === "entry-point" || args.pluginData === ASKED) return undefined;
    const found = decide(args.path, args.importer);
    if (found === undefined) return undefined;
    if ("external" in found) return { path: found.external, external: true };
    if ("file" in found) return { path: found.file };
    const { kind, resolveDir, importer } = args;
    return build.resolve(found.package, { kind, resolveDir, importer, pluginData: ASKED });
  });
}

/**
 * Takes two texts from standard input, each with its length before it: the extension host's, which it runs, and boot's, which it
 * passes on. It is the whole program on the command line, so that the process needs to read no file.
 */
const LOADER = `
const reader = Deno.stdin.readable.getReader();
let rest = new Uint8Array(0);
const take = async (size) => {
  while (rest.length < size) {
    const { value, done } = await reader.read();
    if (done) Deno.exit(0);
    const both = new Uint8Array(rest.length + value.length);
    both.set(rest);
    both.set(value, rest.length);
    rest = both;
  }
  const taken = rest.slice(0, size);
  rest = rest.slice(size);
  return taken;
};
const text = async () => new TextDecoder().decode(await take(new DataView((await take(4)).buffer).getUint32(0, true)));
const host = await text();
const boot = await text();
const url = URL.createObjectURL(new Blob([host], { type: "text/javascript" }));
await (await import(url)).runHost(boot, reader, rest);
`;

/** An extension host: this runtime with no permission at all, which reads no configuration and keeps nothing. */
export async function denoHostProgram(): Promise<HostProgram> {
  const [host, boot] = await Promise.all([built("src/platform/deno-host.ts"), bootText()]);
  const parts = [host, boot].flatMap((text) => {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return [length, bytes];
  });
  return {
    file: Deno.execPath(),
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      "--no-config",
      "--no-lock",
      "--no-npm",
      "--no-remote",
      "--cached-only",
      "--no-code-cache",
      "--v8-flags=--expose-gc",
      `data:text/javascript;base64,${Buffer.from(LOADER).toString("base64")}`,
    ],
    input: Buffer.concat(parts),
    start: startProgram,
  };
}
