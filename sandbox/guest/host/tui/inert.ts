/**
 * In the place of Node's modules where pi-tui finds out about the terminal: it would run `tmux`, and nobody granted that. Small, so that
 * who only wraps a text loads no shim of a module.
 */
import { about } from "xdev:system";

export function execSync(): never {
  throw new Error("the terminal is the host's");
}

export const homedir = (): string => about.home;

export const isAbsolute = (path: string): boolean => path.startsWith("/");

export const pathToFileURL = (path: string): URL => new URL(`file://${encodeURI(path)}`);

export const { performance } = globalThis;
