/** The user's home, and the folder for temporary files: the system's, or those that a test of an extension has in their place. */
import { homedir, tmpdir } from "node:os";

let instead: { home: string; tmp: string } | undefined;

export function homeFolder(): string {
  return instead?.home ?? homedir();
}

export function temporaryFolder(): string {
  return instead?.tmp ?? tmpdir();
}

/** From now on these are meant; undefined for the system's. The runtime's own functions know only what the process was started with. */
export function useFolders(folders: { home: string; tmp: string } | undefined): void {
  instead = folders;
}
