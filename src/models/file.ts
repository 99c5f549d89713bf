import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openCache, sha256 } from "../base/cache.ts";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import type { ModelsFile } from "./schema.ts";

/** `<dataDir>/models.yml`, or why there is nothing in it. */
export interface LoadedFile {
  path: string;
  exists: boolean;
  config: ModelsFile;
  /** The 1-based line of a path in the file; 1 when there is no file. */
  lineOf(path: readonly PropertyKey[]): number;
}

/** Reads models.yml. A missing or empty file is no error; anything else wrong is an XdevError `bad-models-file`. */
export async function loadModelsFile(dataDir: string): Promise<LoadedFile> {
  const path = join(dataDir, "models.yml");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { path, exists: false, config: {}, lineOf: () => 1 };
    throw new XdevError("bad-models-file", `${path} can't be read: ${errorText(error)}`, { cause: error });
  }
  const cache = openCache(dataDir);
  const key = sha256(text);
  const kept = (await cache.read("models", key)) as KeptFile | undefined;
  if (kept) return loaded(path, kept);
  const [{ modelsFileSchema }, { parseFile }] = await Promise.all([
    import("./schema.ts"),
    import("../config/parse.ts"),
  ]);
  const { value, lineOf } = await parseFile(text, modelsFileSchema, path, "bad-models-file");
  const fresh: KeptFile = { config: value, lines: linesOf(value, lineOf) };
  if (!holdsSecret(value)) await cache.write("models", key, fresh);
  return loaded(path, fresh);
}

/** The checked file as the cache keeps it: reading YAML and checking it is a good part of a start. */
interface KeptFile {
  config: ModelsFile;
  /** The line of each path in the file; a path is JSON text. */
  lines: Record<string, number>;
}

function loaded(path: string, { config, lines }: KeptFile): LoadedFile {
  const lineOf = (wanted: readonly PropertyKey[]): number => {
    for (let length = wanted.length; length > 0; length--) {
      const line = lines[JSON.stringify(wanted.slice(0, length))];
      if (line !== undefined) return line;
    }
    return 1;
  };
  return { path, exists: true, config, lineOf };
}

function linesOf(value: unknown, lineOf: (path: readonly PropertyKey[]) => number): Record<string, number> {
  const lines: Record<string, number> = {};
  const visit = (item: unknown, path: PropertyKey[]): void => {
    if (path.length > 0) lines[JSON.stringify(path)] = lineOf(path);
    if (typeof item !== "object" || item === null) return;
    for (const [key, member] of Object.entries(item)) {
      visit(member, [...path, Array.isArray(item) ? Number(key) : key]);
    }
  };
  visit(value, []);
  return lines;
}

/** Whether a key stands in the file itself: what holds one is not copied anywhere. A variable's name is no secret. */
function holdsSecret(config: ModelsFile): boolean {
  return Object.values(config.providers ?? {}).some(
    ({ apiKey, baseUrl, headers }) =>
      [apiKey, ...Object.values(headers ?? {})].some(
        (text) => text !== undefined && text !== "none" && !VARIABLE.test(text),
      ) || (baseUrl ?? "").includes("@"),
  );
}

const VARIABLE = /^\$\{\w+\}$/;
