/**
 * Which files are extensions, and of which kind (extension-protocol.md §1). Nothing is executed or imported here, and only
 * the data dir and paths that the user named are looked at: what a repository brings is not.
 */
import { access, constants, open, readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { canonicalPath } from "../base/files.ts";
import { log } from "../base/log.ts";

export interface ExtensionSource {
  /** Canonical path of the executable, or of the module that is bundled. */
  path: string;
  kind: "process" | "worker";
}

const MODULE_SUFFIXES = new Set([".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"]);
const INDEX_NAMES = ["index.ts", "index.tsx", "index.mts", "index.js", "index.mjs"];

/**
 * Extensions in `<dataDir>/extensions`, in lexical order of their file names: executables, modules, and folders with an
 * index module. A missing folder means none; what is neither is skipped with a debug line.
 */
export async function discoverExtensions(dataDir: string): Promise<ExtensionSource[]> {
  const folder = join(dataDir, "extensions");
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw new XdevError("extensions-unreadable", `cannot read ${folder}: ${errorText(error)}`, {
      hint: "check the rights of the folder, or start with --no-extensions",
    });
  }
  const found: ExtensionSource[] = [];
  for (const name of names.sort(byCodeUnit)) {
    if (name.startsWith(".")) continue;
    try {
      found.push(await identifyExtension(join(folder, name)));
    } catch (error) {
      log.debug(`skipped ${join(folder, name)}: ${errorText(error)}`);
    }
  }
  return found;
}

/** What one path is. Throws `XdevError` with code `not-an-extension` and the way out when it is nothing that can be loaded. */
export async function identifyExtension(path: string): Promise<ExtensionSource> {
  const real = await canonicalPath(path);
  const info = await stat(real).catch((error: unknown) => {
    throw new XdevError("not-an-extension", `cannot load extension ${path}: ${errorText(error)}`, {
      hint: "check the path",
    });
  });
  if (info.isDirectory()) {
    for (const name of INDEX_NAMES) {
      const index = join(real, name);
      if ((await stat(index).catch(() => undefined))?.isFile()) {
        return { path: await canonicalPath(index), kind: "worker" };
      }
    }
    throw new XdevError("not-an-extension", `${path} is a folder without an index.ts or index.js`);
  }
  if (!info.isFile()) throw new XdevError("not-an-extension", `${path} is neither a file nor a folder`);
  const executable = await access(real, constants.X_OK).then(
    () => true,
    () => false,
  );
  // On some file systems every file is executable: a module is only a program if it says how to be run.
  if (MODULE_SUFFIXES.has(extname(real))) {
    return { path: real, kind: executable && (await hasShebang(real)) ? "process" : "worker" };
  }
  if (executable) return { path: real, kind: "process" };
  throw new XdevError(
    "not-an-extension",
    `${path} is neither executable nor a TypeScript or JavaScript module`,
    {
      hint: `to run it as a process: chmod +x ${path}`,
    },
  );
}

async function hasShebang(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString("latin1") === "#!";
  } finally {
    await file.close();
  }
}

/** Lexical order that does not depend on the machine's locale. */
function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
