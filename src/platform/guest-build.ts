/**
 * Builds the texts of sandbox/guest/packages.ts with Bun. Only our own sources and our own dependencies go through here,
 * never an extension. What one of them imports from another stays a `require`, so that there is one instance of each.
 */
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import type { PluginBuilder } from "bun";
import { disguise } from "../../sandbox/bundle/disguise.ts";
import { GUEST_SOURCES, type GuestSource, guestSourceName, SYSTEM } from "../../sandbox/guest/packages.ts";
import { checkSource } from "../../sandbox/guest/source-check.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Builds one into a script whose value is a function of `require` and `module`. Throws for an import that the guest has not. */
export async function buildGuestSource(name: string): Promise<GuestSource> {
  const source = GUEST_SOURCES[name];
  if (!source) throw new Error(`no guest source ${name}`);
  const requires = new Set<string>();
  const entry = source.entry.startsWith("sandbox/")
    ? `${root}${source.entry}`
    : Bun.resolveSync(source.entry, root);
  const setup = (build: PluginBuilder) => {
    build.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
      if (kind.startsWith("entry-point") || path.startsWith(".") || isAbsolute(path)) return undefined;
      if (path === SYSTEM) return { path, external: true };
      const other = guestSourceName(path);
      if (other !== undefined && other !== name) {
        requires.add(other);
        // Not a name that Bun knows: it has texts of its own for those of Node's modules.
        return { path: `guest:${other}`, external: true };
      }
      // A package of a module's name is meant: `buffer/`, or `buffer` within itself.
      const wish = path.replace(/^node:/, "").replace(/\/$/, "");
      if (path.startsWith("node:")) throw new Error(`${importer}: the guest has no ${path}`);
      return { path: packagePath(wish, importer) };
    });
  };
  const result = await Bun.build({
    entrypoints: [entry],
    format: "cjs",
    target: "browser",
    minify: true,
    env: "disable",
    plugins: [{ name: "guest", setup }],
  });
  const output = result.outputs[0];
  if (!output) throw new Error(`the build of guest source ${name} gave nothing`);
  const code = (await output.text()).trim();
  // `require` gets the names without the prefix.
  const text = `((load,module)=>{const exports=module.exports;const require=(name)=>load(name.startsWith("guest:")?name.slice(6):name);\n${code}\n})`;
  // Checked here so that boot need not.
  const disguised = disguise(text, 0);
  checkSource(disguised);
  return { text: disguised, requires: [...requires].sort() };
}

/** Where a package's file is; its browser form, if it has one. */
function packagePath(specifier: string, importer: string): string {
  const from = importer === "" ? root : importer.replace(/\/[^/]*$/, "");
  // With a slash it is a package and not a module of the runtime's.
  return Bun.resolveSync(specifier.includes("/") ? specifier : `${specifier}/`, from);
}
