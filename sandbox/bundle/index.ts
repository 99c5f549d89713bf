/**
 * From an extension's TypeScript to one script for its compartment: link (src/platform), translate the module into a
 * script (script.ts), make its text pass SES (disguise.ts), and check the result as the guest will (source-check.ts).
 *
 * The input is hostile. What must hold: nothing of it is executed, and nothing is read but the extension's own files.
 */
import { errorText, XdevError } from "../../src/base/errors.ts";
import { type BundleHooks, loadPlatform, type Platform } from "../../src/platform/index.ts";
import { checkSource } from "../guest/source-check.ts";
import { disguise } from "./disguise.ts";
import type { ImportKind } from "./exports.ts";
import { existing, loaderOf, Reader, refuse } from "./files.ts";
import { BUNDLE_URL } from "./frames.ts";
import { checkAttributes, placeOfImport } from "./imports.ts";
import { inRoot, lazyTables, needsModule } from "./lazy.ts";
import { findLookAlike } from "./look-alikes.ts";
import { allName, EXPORT_ALL, fileId, mark, readAllName, resolvedLiterals, setMarks } from "./marks.ts";
import { moduleKind } from "./modules.ts";
import type { BundledFile, BundledFiles } from "./own-places.ts";
import { type PlaceTable, placeTable } from "./places.ts";
import { originalPlace, withLinesInFront } from "./positions.ts";
import { resolveEntry, resolveSpecifier } from "./resolve.ts";
import { packageRoot, readPackage } from "./root.ts";
import { moduleToScript, type Script } from "./script.ts";
import { lineAndColumn, ParseFailure } from "./syntax.ts";

export interface Bundle {
  /** A script in strict mode; its value is an async function of the guest's loader, see `script.ts`. */
  source: string;
  /** External specifiers that are imported, statically or by a literal `import()` or `require()`, sorted. */
  imports: string[];
  /** Whether its package.json declares permissions (sandbox/permissions/declared.ts reads them). */
  declares: boolean;
  /** Canonical paths of the files that went in, sorted. */
  files: string[];
  /** Path and SHA-256 digest of everything that was read, package.json files included. */
  read: [string, string][];
  /** Every path that was looked for and what it led to, null for nothing: if that changes, the bundle may, too. */
  probes: [string, string | null][];
  /** Every folder that was listed, and a digest of the names in it. */
  folders: [string, string][];
  /** Source map of `source`, JSON text. Lines are exact, columns approximate. */
  map: string;
  /** The same for messages at run time. */
  places: PlaceTable;
}

/**
 * Bundles the extension whose entry file is at the absolute path `entry`. Throws XdevError with code `bundle-refused`
 * (it asks for something that extensions can't have) or `bundle-failed` (it is broken); the message begins with
 * `file:line:column` where that is known. `link` is the platform's bundler, unless a test says otherwise.
 */
export async function bundleExtension(entry: string, link?: Platform["bundle"]): Promise<Bundle> {
  const main = await resolveEntry(entry);
  if (main === undefined) throw new XdevError("bundle-failed", `${entry}: no such file`);
  const { root, readers } = await packageRoot(main);
  const reader = new Reader(root);
  for (const one of readers) reader.noteAll(one);
  const own = (await readPackage(root, reader).catch(() => undefined))?.xdev as {
    permissions?: unknown;
  } | null;
  const session = new Session(reader);
  const linker = link ?? (await loadPlatform()).bundle;
  const { code, map } = await linker(main, session.hooks);

  const place = (line: number, column: number): string => {
    const author = originalPlace(map, line, column);
    return author ? `${author.file}:${author.line}:${author.column}` : main;
  };
  const files = { entry: inRoot(main, reader), byId: session.marked, root };
  const script = translate(code, session.externals, files, place);
  // The name is what stack traces call it.
  const source = `${toConfinedText(script, place)}\n//# sourceURL=${BUNDLE_URL}`;
  const wholeMap = withLinesInFront(map, script.addedLines);
  return {
    source,
    imports: [...new Set([...script.imports, ...session.madeImports])].sort(),
    declares: own?.permissions !== undefined,
    files: [...session.texts.keys()].sort(),
    read: [...reader.digests],
    probes: [...reader.probes].map(([path, real]) => [path, real ?? null]),
    folders: [...reader.folders],
    map: wholeMap,
    places: placeTable(source, wholeMap),
  };
}

/** The hooks of one bundle, and what they saw. */
class Session {
  readonly texts = new Map<string, string>();
  readonly externals = new Set<string>();
  /** The files with marks, by the id in them. */
  readonly marked = new Map<string, BundledFile>();
  /** What functions of `createRequire` ask the guest's loader for. */
  readonly madeImports = new Set<string>();
  /** Texts that belong to a file and lie beside it: the file's path and theirs, by a path that no file has. */
  readonly #beside = new Map<string, { of: string; text: string }>();
  readonly #reader: Reader;
  #refusal: XdevError | undefined;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  readonly hooks: BundleHooks = {
    resolve: async (specifier: string, importer: string, kind: ImportKind = "import") => {
      if (readAllName(specifier) !== undefined) return { external: true };
      if (this.#refusal) throw this.#refusal;
      const beside = this.#beside.get(importer);
      if (beside) return this.hooks.resolve(specifier, beside.of, kind);
      try {
        if (!this.texts.has(importer)) throw refuse(importer, "is not part of the bundle");
        const own = `${importer}?needs`;
        if (this.#beside.has(own) && specifier === needsModule(this.#idOf(importer))) return { path: own };
        const found = await resolveSpecifier(specifier, importer, kind, this.#reader);
        if ("external" in found) this.externals.add(found.name ?? specifier);
        return found;
      } catch (error) {
        // One is enough, and to find the place of ten thousand takes minutes.
        this.#refusal ??= this.#imported(error, specifier, importer);
        throw this.#refusal;
      }
    },
    load: async (path: string) => {
      const beside = this.#beside.get(path);
      if (beside) return { contents: beside.text, loader: "js" };
      const loader = loaderOf(path);
      if ((await existing(path)) !== path) throw refuse(path, "is no longer the file that it was");
      const contents = await this.#reader.read(path);
      this.texts.set(path, contents);
      if (loader === "json") return { contents, loader };
      checkAttributes(path, contents);
      return { ...(await this.#mark(path, contents)), loader };
    },
  };

  /** `text` as the linkers understand it. Lines stay. */
  async #prepare(path: string, text: string): Promise<string> {
    let result = "";
    let at = 0;
    for (const { 0: all, 1: begin = "", 3: specifier = "", index } of text.matchAll(EXPORT_ALL)) {
      const found = await resolveSpecifier(specifier, path, "import", this.#reader).catch(() => undefined);
      if (!found || !("external" in found)) continue;
      const name = found.name ?? specifier;
      this.externals.add(name);
      result += `${text.slice(at, index)}${begin}"${allName(name)}"`;
      at = index + all.length;
    }
    result += text.slice(at);
    // No longer the first line's beginning.
    if (result.startsWith("#!")) result = `//${result}`;
    // As TypeScript has it, the comment that names a factory asks for it.
    const factory = /\.[jt]sx$/.test(path) && /@jsx\s+\w/.test(text) && !/@jsxRuntime\s/.test(text);
    return factory ? `/** @jsxRuntime classic */${result}` : result;
  }

  #idOf(path: string): string {
    return fileId(inRoot(path, this.#reader));
  }

  async #mark(path: string, text: string) {
    const relativePath = inRoot(path, this.#reader);
    const id = this.#idOf(path);
    const prepared = await this.#prepare(path, text);
    const marked = setMarks(prepared, id);
    const tables = await lazyTables(path, prepared, marked, id, this.#reader);
    for (const name of tables.externals) this.madeImports.add(name);
    if (tables.module !== undefined) this.#beside.set(`${path}?needs`, { of: path, text: tables.module });
    const resolved: Record<string, string> = {};
    for (const literal of resolvedLiterals(text)) {
      const found = await resolveSpecifier(literal, path, "require", this.#reader).catch(() => undefined);
      if (found && "path" in found) resolved[literal] = `./${inRoot(found.path, this.#reader)}`;
      else if (moduleKind(literal) === "external") resolved[literal] = "";
    }
    this.marked.set(id, { path: relativePath, resolved });
    return {
      contents: marked.text + tables.text,
      names: { __dirname: mark("Folder", id), __filename: mark("File", id) },
    };
  }

  /** `error`, with the place of the import in front. */
  #imported(error: unknown, specifier: string, importer: string): XdevError {
    const at = placeOfImport(this.texts.get(importer) ?? "", specifier);
    const where = at ? `${importer}:${at.line}:${at.column}` : importer;
    const known = error instanceof XdevError ? error : undefined;
    return new XdevError(
      known?.code ?? "bundle-failed",
      `${where}: cannot import ${JSON.stringify(specifier)}: ${errorText(error).replace(`${JSON.stringify(specifier)}: `, "")}`,
      { hint: known?.hint, cause: error },
    );
  }
}

type PlaceOf = (line: number, column: number) => string;

function translate(
  code: string,
  externals: ReadonlySet<string>,
  files: BundledFiles,
  place: PlaceOf,
): Script {
  try {
    return moduleToScript(code, externals, files);
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw new XdevError("bundle-refused", `${place(error.line, error.column)}: ${error.message}`, {
      hint: "The sandbox refuses syntax that its checker does not know. Write it in another way.",
    });
  }
}

function toConfinedText(script: Script, place: PlaceOf): string {
  let source: string;
  try {
    source = disguise(script.source, script.declareAt);
    checkSource(source);
  } catch (error) {
    throw new XdevError("bundle-refused", `${place(1, 1)}: ${errorText(error)}`, { cause: error });
  }
  const at = findLookAlike(source);
  if (at >= 0) {
    const { line, column } = lineAndColumn(source, at);
    throw new XdevError(
      "bundle-refused",
      `${place(line - script.addedLines, column)}: this looks like a dynamic import, an HTML comment or a direct eval`,
      { hint: "Write it in another way: the sandbox can't tell it from the real thing." },
    );
  }
  return source;
}
