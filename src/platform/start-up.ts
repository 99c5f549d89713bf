/**
 * Code of a start runs once, and compiling it costs more than it saves: JavaScriptCore is told to wait with that, and
 * told when the start is over. Elsewhere this does nothing. Kept apart from bun.ts, which loads more.
 */
interface JustInTime {
  Bun?: { unsafe?: { setJITPolicy?(scale: number): void } };
}

// Taken at once: boot removes the global.
const setPolicy = (globalThis as JustInTime).Bun?.unsafe?.setJITPolicy;

/** How many times longer than usual code stays interpreted during the start. */
const RELUCTANCE = 64;

/** The start begins. */
export function beginStartUp(): void {
  setPolicy?.(RELUCTANCE);
}

/** The start is over: code that runs now may run often. */
export function endStartUp(): void {
  setPolicy?.(1);
}
