/**
 * Installs the packages that packages/package.json pins, by packages/bun.lock and without their scripts, below node_modules/.cache of
 * this repository: once for each lock, from then on without the network. Each is then laid out by itself, with what it depends on in
 * its own node_modules, as `npm install` in its folder would.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sha256 } from "../../src/base/cache.ts";

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
  pi?: { extensions?: string[] };
  omp?: { extensions?: string[] };
}

const here = fileURLToPath(new URL("packages/", import.meta.url));
const root = fileURLToPath(new URL("../../", import.meta.url));
const cache = join(root, "node_modules", ".cache", "xdev-compat");

export const PINNED = manifestOf(here).dependencies ?? {};

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The folder with a node_modules that has all of them. Throws when they can't be installed. */
export function installPackages(): string {
  const lock = readFileSync(join(here, "bun.lock"));
  const target = join(cache, sha256(lock).slice(0, 16));
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "new-"));
  try {
    for (const name of ["package.json", "bun.lock"]) copyFileSync(here + name, join(work, name));
    // Nothing but these two files says what is installed.
    writeFileSync(join(work, "bunfig.toml"), "");
    const bun = join(root, "node_modules", ".bin", "bun");
    const omit = ["--omit=peer", "--omit=optional", "--omit=dev"];
    const { status, stderr } = spawnSync(
      bun,
      ["install", "--frozen-lockfile", "--ignore-scripts", "--no-progress", ...omit],
      { cwd: work, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`the packages of test/compat/packages cannot be installed: ${stderr}`);
    renameSync(work, target);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

/** Lays out a package in `folder`, with what it depends on below it. */
export function layOut(name: string, folder: string): void {
  const modules = join(installPackages(), "node_modules");
  link(join(modules, name), folder);
  addDependencies(folder, manifestOf(folder).dependencies ?? {});
}

/** Puts packages and what they depend on into the node_modules of a folder. Those of the host's are none of them. */
export function addDependencies(folder: string, wanted: Record<string, string>): void {
  const modules = join(installPackages(), "node_modules");
  const seen = new Set<string>();
  const add = (name: string): void => {
    const from = join(modules, name);
    const to = join(folder, "node_modules", name);
    // Optional ones may not be there, and what lies deeper comes with its package.
    if (seen.has(name) || !existsSync(from)) return;
    seen.add(name);
    if (!existsSync(to)) link(from, to);
    for (const nested of manifestsBelow(from)) {
      for (const dependency of Object.keys(nested.dependencies ?? {})) add(dependency);
    }
  };
  for (const name of Object.keys(wanted)) add(name);
}

/** Its own manifest, and those of the packages that it brings in a node_modules of its own. */
function manifestsBelow(folder: string): Manifest[] {
  const modules = join(folder, "node_modules");
  const names = existsSync(modules) ? readdirSync(modules) : [];
  const nested = names.flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(modules, name)).map((one) => join(name, one)) : [name],
  );
  const found = nested.filter((name) => existsSync(join(modules, name, "package.json")));
  return [manifestOf(folder), ...found.flatMap((name) => manifestsBelow(join(modules, name)))];
}

/** The same files at another place: links where that can be, since nobody writes to them. */
function link(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const info = lstatSync(source);
    if (info.isDirectory()) link(source, target);
    else if (info.isFile()) {
      mkdirSync(dirname(target), { recursive: true });
      try {
        linkSync(source, target);
      } catch {
        copyFileSync(source, target);
      }
    }
  }
}
