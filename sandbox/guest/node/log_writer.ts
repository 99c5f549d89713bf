import { log } from "xdev:system";

/** Gives a function that writes text or bytes to the extension's log: what it is given at once is one entry. */
export function logWriter(level: "info" | "warn"): (chunk: unknown) => void {
  const decoder = new TextDecoder();
  return (chunk) => {
    const text = chunk instanceof Uint8Array ? decoder.decode(chunk, { stream: true }) : String(chunk);
    const trimmed = text.replace(/\r?\n$/, "");
    if (trimmed !== "") log(level, trimmed);
  };
}
