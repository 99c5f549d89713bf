/** Numbers of signals as Linux has them. Bundled into the modules that need them. */
const NAMES =
  "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU " +
  "XFSZ VTALRM PROF WINCH IO PWR SYS";

export const signals: Readonly<Record<string, number>> = Object.fromEntries([
  ...NAMES.split(" ").map((name, index) => [`SIG${name}`, index + 1] as const),
  ["SIGIOT", 6],
  ["SIGPOLL", 29],
]);

/** The name of a signal that is given by name or number; undefined for none. */
export function signalName(signal: string | number): string | undefined {
  if (typeof signal === "number") return Object.keys(signals).find((name) => signals[name] === signal);
  const name = signal.toUpperCase();
  return Object.hasOwn(signals, name) ? name : undefined;
}
