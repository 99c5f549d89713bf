/**
 * Builds the texts of sandbox/guest/packages.ts. Only our own sources and our own dependencies go through here,
 * never an extension. What one of them imports from another stays a `require`, so that there is one instance of each.
 */
import { isBuiltin } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PluginBuilder } from "bun";
import { disguise } from "../../sandbox/bundle/disguise.ts";
import { packageName } from "../../sandbox/bundle/modules.ts";
import { hostModule } from "../../sandbox/guest/host/names.ts";
import { GUEST_SOURCES, type GuestSource, type SourceEntry } from "../../sandbox/guest/packages.ts";
import { checkSource } from "../../sandbox/guest/source-check.ts";
import { guestSourceName, SOURCE_NAMES, type SourceName, SYSTEM } from "../../sandbox/guest/source-names.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** What becomes of an import: a name that stays, a file, a package, or (undefined) what is usual. */
export type Decide = (
  specifier: string,
  importer: string,
) => { external: string } | { file: string } | { package: string } | undefined;

/** Links an entry (a file, a package's name, or a text) into one minified CommonJS text. */
export type Link = (entry: string | { text: string }, decide: Decide) => Promise<string>;

/** Builds one into a script whose value is a function of `require` and `module`. Throws for an import that the guest has not. */
export async function buildGuestSource(name: string, link: Link = linkWithBun): Promise<GuestSource> {
  const known = guestSourceName(name);
  if (known === undefined) throw new Error(`no guest source ${name}`);
  const source: SourceEntry = GUEST_SOURCES[known];
  const requires = new Set<string>();
  const decide: Decide = (given, importer) => {
    const path = source.instead?.[given] ?? given;
    const owner = ownerOf(path, importer);
    // What is there at once of a package in two parts must not bring the other: what it uses of such a file it has itself.
    if (owner !== undefined && owner !== name && owner !== source.rest) {
      requires.add(owner);
      return { external: `guest:${owner}` };
    }
    if (path.startsWith("sandbox/")) return { file: `${root}${path}` };
    if (path.startsWith(".") || isAbsolute(path)) return undefined;
    if (path === SYSTEM) return { external: path };
    const other = packageOf(path) === (source.of ?? name) ? undefined : guestSourceName(path);
    if (other !== undefined && other !== name) {
      requires.add(other);
      // Not a name that a bundler knows: some have texts of their own for those of Node's modules.
      return { external: `guest:${other}` };
    }
    if (path.startsWith("node:")) throw new Error(`${importer}: the guest has no ${path}`);
    // A package of a module's name is meant: `buffer/`, or `buffer` within itself.
    const wish = path.replace(/\/$/, "");
    return { package: isBuiltin(wish) ? `${wish}/` : wish };
  };
  const linked = (await link(await entryOf(source), decide)).trim();
  // A default import of another of ours is its default export, not, as for CommonJS, all of it.
  const code = linked.replace(/(\brequire\("guest:[^"]+"\)),\s*1\)/g, "$1)");
  // `require` gets the names without the prefix. One function: an engine reads what is in functions within functions again and again.
  const text = `((load,module)=>{const require=(name)=>load(name.startsWith("guest:")?name.slice(6):name),exports=module.exports;${source.changesGlobals ? "" : TAKEN}\n${code}\n${source.early || source.whole || source.member ? "module.exports=module.exports.all;" : ""}})`;
  // Checked here so that boot need not.
  const disguised = disguise(text, 0);
  checkSource(disguised);
  return { text: disguised, requires: [...requires].sort() };
}

/**
 * The language's globals, taken once for each text. In a compartment a name that is not declared is looked up through a proxy, which
 * is slow, and gives what the extension has put there since.
 */
const TAKEN = `const{${[
  "Object Function Boolean Symbol Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError",
  "Number BigInt Math Date String RegExp Array Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array",
  "Uint32Array BigInt64Array BigUint64Array Float32Array Float64Array Map Set WeakMap WeakSet ArrayBuffer DataView JSON",
  "Promise Proxy Reflect isFinite isNaN parseFloat parseInt decodeURIComponent encodeURIComponent decodeURI encodeURI",
]
  .join(" ")
  .split(" ")
  .join(",")}}=globalThis;`;

/** The package of a specifier as `SourceEntry.of` has it. */
const packageOf = (specifier: string): string => hostModule(specifier) ?? packageName(specifier);

/** Which text has the file that an import means. */
function ownerOf(specifier: string, importer: string): SourceName | undefined {
  const path = specifier.startsWith(".") ? join(dirname(importer), specifier) : `/${specifier}`;
  const file = path.replaceAll("\\", "/");
  return OWNERS.find(([end]) => file.endsWith(end))?.[1];
}

const OWNERS = SOURCE_NAMES.flatMap((name) =>
  ((GUEST_SOURCES[name] as SourceEntry).owns ?? []).map((end) => [end, name] as const),
);

/** What is linked: of a package in two parts, the names that are there at once, and a stand-in for the others. */
async function entryOf({ entry, early, rest, member }: SourceEntry): Promise<string | { text: string }> {
  const path = entry.startsWith("sandbox/") ? `${root}${entry}` : entry;
  if (member) return { text: `export const all = require(${JSON.stringify(entry)}).${member};` };
  if (!early) return path;
  const { Type, ...others } = (await import(entry)) as { Type: object };
  const renamed = early.map((name) => `${name} as early${name}`).join(",");
  const given = early.map((name) => `${name}:early${name}`).join(",");
  return {
    text: `
      import { ${renamed} } from ${JSON.stringify(entry)};
      import { inParts } from ${JSON.stringify(`${root}sandbox/guest/in-parts.ts`)};
      export const all = inParts({${given}}, () => require(${JSON.stringify(rest)}), {
        names: ${JSON.stringify(Object.keys(others))},
        types: ${JSON.stringify(Object.keys(Type))},
      });`,
  };
}

const linkWithBun: Link = async (entry, decide) => {
  const setup = (build: PluginBuilder) => {
    build.onResolve({ filter: /^entry-text$/ }, ({ path }) => ({ path, namespace: "entry" }));
    build.onLoad({ filter: /.*/, namespace: "entry" }, () => ({
      contents: (entry as { text: string }).text,
      loader: "js",
    }));
    build.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
      if (kind.startsWith("entry-point")) return undefined;
      const found = decide(path, importer);
      if (found === undefined) return undefined;
      if ("external" in found) return { path: found.external, external: true };
      if ("file" in found) return { path: found.file };
      // Its browser form, if it has one.
      const from = importer === "" ? root : importer.replace(/\/[^/]*$/, "");
      return { path: Bun.resolveSync(found.package, from) };
    });
  };
  const result = await Bun.build({
    entrypoints: [
      typeof entry !== "string" ? "entry-text" : isAbsolute(entry) ? entry : Bun.resolveSync(entry, root),
    ],
    format: "cjs",
    target: "browser",
    minify: true,
    env: "disable",
    plugins: [{ name: "guest", setup }],
  });
  const output = result.outputs[0];
  if (!output) throw new Error(`the build of ${JSON.stringify(entry)} gave nothing`);
  return output.text();
};
