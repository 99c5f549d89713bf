/** Where skills, prompt templates and stream rules come from, and how a file of theirs becomes text: see `resource-files.ts`. */
import type { AuthorityFile } from "../config/authority.ts";

export type ResourceOrigin = "user" | "project" | "extension";

/** The places of one session, in the order in which names are given away: the first of a name keeps it. */
export interface ResourcePlaces {
  dataDir: string;
  /** A `TrustedWorkspace`; undefined unless it is trusted. Its files are used as they were when it was trusted. */
  workspace?: { folder: string; authority: { files: readonly AuthorityFile[] } } | undefined;
  /** What `resources_discover` gave. */
  extra?: readonly ExtraPath[];
}

export type ResourceKind = "skill" | "prompt" | "rule";

/** A file or folder that an extension names. */
export interface ExtraPath {
  /** What is looked for there: a folder of skills has texts in it that are no prompts. */
  kind: ResourceKind;
  path: string;
  /** The extension's own folder: relative paths start here, and nothing outside of it is read. */
  root: string;
  /** The extension's name. */
  extension: string;
}

/** Something that was left out or is odd; for the user, on one line. */
export interface ResourceDiagnostic {
  path: string;
  problem: string;
}
