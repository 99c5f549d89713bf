import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A scratch folder of a test; `using` removes it. */
export class Folder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "xdev-test-")));

  /** Writes a file, with its folders, and gives its path. */
  file(name: string, text: string | Uint8Array, mode?: number): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    if (mode !== undefined) chmodSync(path, mode);
    return path;
  }

  /** Writes an executable. */
  program(name: string, text: string): string {
    return this.file(name, text, 0o755);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
