/** The examples of pi's npm package, in the versions that are devDependencies. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sha256 } from "../../src/base/cache.ts";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));

export const VERSIONS = {
  "1.6": join(modules, "@earendil-works/pi-coding-agent"),
  "0.74": join(modules, "pi-coding-agent-0.74"),
} as const;
export type Version = keyof typeof VERSIONS;

export interface Example {
  /** The file's name without its suffix, or the folder's. */
  name: string;
  version: Version;
  path: string;
  /** Of its files: what is the same in both versions is the same extension. */
  digest: string;
}

export function examplesOf(version: Version): Example[] {
  const folder = join(VERSIONS[version], "examples", "extensions");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".ts") || statSync(join(folder, name)).isDirectory())
    .map((entry) => {
      const path = join(folder, entry);
      return { name: entry.replace(/\.ts$/, ""), version, path, digest: digestOf(path) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The exact version, of its package.json. */
export function exactVersion(version: Version): string {
  return (JSON.parse(readFileSync(join(VERSIONS[version], "package.json"), "utf8")) as { version: string })
    .version;
}

function digestOf(path: string): string {
  if (!statSync(path).isDirectory()) return sha256(readFileSync(path));
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).sort();
  const digests = files
    .filter((file) => statSync(join(path, file)).isFile() && !/\.(md|json)$/.test(file))
    .map((file) => `${file} ${sha256(readFileSync(join(path, file)))}`);
  return sha256(digests.join("\n"));
}
