/** What one tool result may hold: 50 KB or 2,000 lines, whichever comes first. */
export const MAX_BYTES = 50 * 1024;
export const MAX_LINES = 2000;

/** The longest head of `bytes` that is at most `limit` long and ends between two UTF-8 characters. */
export function headBytes(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  let end = limit;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.subarray(0, end);
}

/** The longest tail of `bytes` that is at most `limit` long and starts between two UTF-8 characters. */
export function tailBytes(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length <= limit) return bytes;
  let start = bytes.length - limit;
  while (start < bytes.length && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** `900 B`, `12.3 KB`, `4 MB`: 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / 1024 / 1024, "MB"];
  return `${Number(value.toFixed(1))} ${unit}`;
}
