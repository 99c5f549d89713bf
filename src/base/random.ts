/**
 * Random bytes from the runtime's global: `node:crypto` costs a start more than 2 ms when it is first loaded.
 */

/** So many random bytes in hexadecimal: two digits each. At most 65,536. */
export function randomHex(bytes: number): string {
  return Buffer.from(randomBytes(bytes)).toString("hex");
}

/** So many random bytes, at most 65,536. */
export function randomBytes(bytes: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(bytes));
}
