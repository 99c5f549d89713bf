/** Where an example lies: as it came, or, if it has dependencies, a copy of its folder in which they were installed. */
import { cpSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Folder } from "../support/folder.ts";
import type { Example } from "./examples.ts";
import { addDependencies, manifestOf } from "./install.ts";

export class Places implements Disposable {
  #folder: Folder | undefined;

  of({ name, version, path }: Example): string {
    if (!statSync(path).isDirectory() || !existsSync(join(path, "package.json"))) return path;
    const { dependencies } = manifestOf(path);
    if (!dependencies) return path;
    this.#folder ??= new Folder();
    const copy = join(this.#folder.path, version, name);
    if (!existsSync(copy)) {
      cpSync(path, copy, { recursive: true });
      addDependencies(copy, dependencies);
    }
    return copy;
  }

  [Symbol.dispose](): void {
    this.#folder?.[Symbol.dispose]();
  }
}
