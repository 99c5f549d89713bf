/** Where an extension is, as far as its permissions go. */
import { join, relative, sep } from "node:path";
import { sha256 } from "../../src/base/cache.ts";
import { canonicalPath, isInside } from "../../src/base/files.ts";
import { homeFolder, temporaryFolder } from "../../src/base/user-folders.ts";
import type { Folders } from "../broker/broker.ts";

/** The folders that paths of permissions begin with, canonical. */
export async function sessionFolders({
  name,
  path,
  dataDir,
  cwd,
}: {
  name: string;
  path: string;
  dataDir: string;
  cwd: string;
}): Promise<Folders> {
  const [home, tmp, realCwd, realDataDir] = await Promise.all(
    [homeFolder(), temporaryFolder(), cwd, dataDir].map((folder) => canonicalPath(folder)),
  );
  // All storage may be elsewhere by a link of the user; a single extension's own never is.
  const storage = await canonicalPath(join(realDataDir!, "storage"));
  const data = join(storage, storageName(path, name, realDataDir!));
  const own = ownFolder(path, realDataDir!);
  return { home: home!, tmp: tmp!, cwd: realCwd!, dataDir: realDataDir!, data, own };
}

/** The folder of an extension that is installed as one; a file that lies among others has none of its own. */
function ownFolder(path: string, dataDir: string): string | undefined {
  const extensions = join(dataDir, "extensions");
  if (!isInside(path, extensions)) return undefined;
  const [folder, ...rest] = relative(extensions, path).split(sep);
  return rest.length > 0 ? join(extensions, folder!) : undefined;
}

/**
 * The name of an extension's storage. Whoever is loaded from elsewhere than the data dir can call himself what he wants: his storage
 * goes by his path.
 */
export function storageName(path: string, name: string, dataDir: string): string {
  return isInside(path, dataDir) ? name : `${name}@${sha256(path).slice(0, 16)}`;
}
