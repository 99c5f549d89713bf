/** The system calls that are timed. */

/** Both sides of the last two look at a file that is held first, so that no link can be put in the way (sandbox/broker/fs-hold.ts). */
export const CALLS = [
  "host name, at once",
  "read of an open file, at once",
  "read of an open file, later",
  "look at a path, at once",
  "look at a path, later",
] as const;
/** What only the raw side does: the look that a link can mislead. It is told, and judges nobody. */
export const BARE_LOOK = "bare lstat, at once";
export type CallKind = (typeof CALLS)[number];
