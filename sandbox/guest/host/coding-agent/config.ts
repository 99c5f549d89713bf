/** Names and places that extensions ask the agent's package for. */
import { about } from "xdev:system";

/** The folder of a project that is the agent's. */
export const CONFIG_DIR_NAME = ".xdev";
export const VERSION: string = about.version ?? "0.0.0";

/**
 * A folder for what an extension keeps, or looks for, with the agent: its own storage, since nothing that is granted opens the
 * agent's data dir. It needs no permission.
 */
export const getAgentDir = (): string => about.data;

/** Where packages of this family have their files. Here they are in the executable (`xdev docs`): these folders are not there. */
export const getPackageDir = (): string => `${about.data}/package`;
export const getReadmePath = (): string => `${getPackageDir()}/README.md`;
export const getDocsPath = (): string => `${getPackageDir()}/docs`;
export const getExamplesPath = (): string => `${getPackageDir()}/examples`;

export interface ShellConfig {
  shell: string;
  args: string[];
}

/** The shell that runs commands: `bash` along the user's PATH, or the one that is named. */
export const getShellConfig = (shellPath?: string): ShellConfig => ({
  shell: shellPath || "bash",
  args: ["-c"],
});
