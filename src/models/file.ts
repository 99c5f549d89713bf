import { readFile } from "node:fs/promises";
import { join } from "node:path";
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
  const [{ modelsFileSchema }, { parseFile }] = await Promise.all([
    import("./schema.ts"),
    import("../config/parse.ts"),
  ]);
  const { value, lineOf } = await parseFile(text, modelsFileSchema, path, "bad-models-file");
  return { path, exists: true, config: value, lineOf };
}
