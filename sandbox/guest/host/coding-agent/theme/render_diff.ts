import { current } from "./themes.ts";

/** The text of `generateDiffString` with colours: lines that were added, removed, or stay. */
export function renderDiff(diff: string): string {
  return diff
    .split("\n")
    .map((line) => {
      const text = line.replaceAll("\t", "   ");
      if (line.startsWith("+")) return current().fg("toolDiffAdded", text);
      return current().fg(line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext", text);
    })
    .join("\n");
}
