/** `node:assert/strict`. */
import assert from "node:assert";

const { strict } = assert as unknown as typeof import("./assert.ts")["default"];
export const {
  AssertionError,
  deepEqual,
  deepStrictEqual,
  doesNotMatch,
  doesNotReject,
  doesNotThrow,
  equal,
  fail,
  ifError,
  match,
  notDeepEqual,
  notDeepStrictEqual,
  notEqual,
  notStrictEqual,
  ok,
  partialDeepStrictEqual,
  rejects,
  strictEqual,
  throws,
} = strict;
export { strict };

export default strict;
