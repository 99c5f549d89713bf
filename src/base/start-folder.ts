import { XdevError } from "./errors.ts";

let folder: string | undefined;

/**
 * Remembers the folder that the program was started in and leaves it. A runtime looks into its working directory on many
 * occasions (Bun's bundler parses package.json and tsconfig.json there, for one), and the one that an agent is started
 * in may be a stranger's repository. Whatever is relative is resolved against `startFolder()`.
 */
export function leaveStartFolder(): void {
  folder = current();
  process.chdir("/");
}

/** The folder that the program was started in. Throws `XdevError` with code `usage` if it does not exist any more. */
export function startFolder(): string {
  const path = folder ?? current();
  if (path !== undefined) return path;
  throw new XdevError("usage", "the current folder does not exist any more", { hint: "cd to one that does" });
}

function current(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}
