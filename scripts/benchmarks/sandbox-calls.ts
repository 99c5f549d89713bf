/** The system calls that are timed. */

/** The last two are judged by nobody: by its path, a file costs what it takes to make sure that it is the right one. */
export const CALLS = [
  "host name, at once",
  "read of an open file, at once",
  "read of an open file, later",
  "look at a path, at once",
  "look at a path, later",
] as const;
export type CallKind = (typeof CALLS)[number];
