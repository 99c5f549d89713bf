/**
 * What the npm package of Node's streams wants of `process`. The guest's own is larger, and needs streams itself.
 */
export function nextTick(run: (...args: unknown[]) => void, ...args: unknown[]): void {
  queueMicrotask(() => run(...args));
}

type Standard = Record<"stdout" | "stderr" | "env", unknown>;
const own = (): Partial<Standard> => (globalThis as { process?: Standard }).process ?? {};

export default {
  nextTick,
  get stdout(): unknown {
    return own().stdout;
  },
  get stderr(): unknown {
    return own().stderr;
  },
  env: {},
};
