const { apply } = Reflect;
const byteLengths = [ArrayBuffer, SharedArrayBuffer].map(
  ({ prototype }) => Object.getOwnPropertyDescriptor(prototype, "byteLength")?.get as () => number,
);

/** Whether it is memory itself, and not only looks like it. Captured before any guest runs. */
export function isBuffer(value: unknown): boolean {
  for (let i = 0; i < byteLengths.length; i++) {
    try {
      apply(byteLengths[i] as () => number, value, []);
      return true;
    } catch {
      // Not of this class.
    }
  }
  return false;
}
