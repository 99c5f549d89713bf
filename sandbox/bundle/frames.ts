/** The name of a bundle in stack traces: its last line says so (`//# sourceURL=`). */
export const BUNDLE_URL = "xdev-bundle";

/**
 * The places in the bundle, `xdev-bundle:LINE:COLUMN`, that the text of a stack trace names, the innermost first; at most
 * five. Nothing else of the text is kept: it names the host's files.
 */
export function bundleFrames(stack: string): string[] {
  const frames: string[] = [];
  let at = 0;
  while (frames.length < 5) {
    at = stack.indexOf(`${BUNDLE_URL}:`, at);
    if (at < 0) break;
    let end = at + BUNDLE_URL.length + 1;
    while (isPlace(stack[end])) end++;
    frames[frames.length] = stack.slice(at, end);
    at = end;
  }
  return frames;
}

function isPlace(char: string | undefined): boolean {
  return char !== undefined && ((char >= "0" && char <= "9") || char === ":");
}
