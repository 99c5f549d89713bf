/** The one extension that a command is about, by its path or its name. */
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import { discoverExtensions, type ExtensionSource, identifyExtensions } from "../extensions/discovery.ts";
import { assignNames } from "../extensions/names.ts";

/** The extension at a path. Throws `XdevError` with code `not-an-extension` if there is none, or more than one. */
export async function extensionAt(path: string): Promise<ExtensionSource> {
  const found = await identifyExtensions(resolvePath(path, startFolder()));
  if (found.length === 1) return found[0]!;
  throw new XdevError("not-an-extension", `${path} has ${found.length} extensions`, {
    hint: `name one of them: ${found.map((source) => source.path).join(", ")}`,
  });
}

/** The extension that the data dir has under this name, else the one at this path. Throws like `extensionAt`. */
export async function findExtension(word: string, dataDir: string): Promise<ExtensionSource> {
  if (/[/\\~]/.test(word)) return extensionAt(word);
  const installed = await discoverExtensions(dataDir);
  const names = assignNames(installed).map(({ name }) => name);
  const index = names.indexOf(word);
  if (index !== -1) return { ...installed[index]!, name: word };
  try {
    return await extensionAt(word);
  } catch (error) {
    if (!(error instanceof XdevError) || error.code !== "not-an-extension") throw error;
    const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
    throw new XdevError(
      error.code,
      `there is no extension ${stripControls(word)} in ${dataDir}/extensions (${known}), nor at that path: ${errorText(error)}`,
      { hint: error.hint },
    );
  }
}
