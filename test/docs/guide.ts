/** The examples of the extensions guide, as modules: taken from its text. */
import { readFileSync } from "node:fs";
import { fencesOf } from "./pages.ts";

const text = readFileSync(new URL("../fixtures/extensions-guide.md", import.meta.url), "utf8");
const [quickStart, ...parts] = fencesOf(text).map((fence) => fence.text) as [string, ...string[]];

const IMPORTS = `import type { ExtensionAPI } from "@f5-sales-demo/xcsh";
import { Type } from "@sinclair/typebox";
import { Text } from "@earendil-works/pi-tui";
`;

const factory = (part: string) =>
  `${IMPORTS}\nexport default function (pi: ExtensionAPI) {\n${part}}\nexport const used = [Type, Text];\n`;

/** By name, each a whole module. */
export const GUIDE = {
  quickStart,
  tool: factory(parts[0]!),
  state: factory(parts[1]!),
  renderer: factory(parts[2]!),
};

/** A part with the line that the guide leaves to the reader. */
export function completed(name: "state" | "renderer", line: string): string {
  return GUIDE[name].replace(/^ *\/\/ (?:restore from latest|return pi-tui Component)$/m, line);
}
