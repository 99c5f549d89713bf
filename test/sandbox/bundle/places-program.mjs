// Runs bundles (JSON array on standard input) and gives what boot can tell about an error of theirs.
import "ses";
import { readFileSync } from "node:fs";
import { bundleFrames } from "../../../sandbox/bundle/frames.ts";
import { createLinks } from "../../../sandbox/guest/api/links.ts";

const sources = JSON.parse(readFileSync(0, "utf8"));
lockdown({ errorTaming: "safe", consoleTaming: "unsafe", overrideTaming: "moderate", reporting: "none" });
const { getStackString } = globalThis;

const found = [];
for (const source of sources) {
  const links = {
    exports: {},
    meta: { filename: "/ext/index.ts" },
    import: () => ({}),
    links: (entry, resolved) => createLinks(links, entry, resolved),
  };
  try {
    await new Compartment({ globals: {}, __options__: true }).evaluate(source)(links);
    await links.exports.default();
    found.push({ frames: [], seen: "" });
  } catch (error) {
    found.push({ frames: bundleFrames(getStackString(error)), seen: String(error.stack) });
  }
}
console.log(JSON.stringify(found));
