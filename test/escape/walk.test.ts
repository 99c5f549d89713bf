/**
 * Every object that code in a fresh compartment can reach is on a list that somebody has read (reachable.txt), and what it shares
 * with the trusted code of its worker is frozen. A new version of the engine can't add a way out unseen.
 *
 * `XDEV_RENEW=1 bun test test/escape/walk.test.ts` writes the list anew (`deno test --allow-all` Deno's, reachable-deno.txt). Read what changed before it is committed: whatever is native
 * and not of ECMAScript must compute, share nothing, and do nothing without a `this` (sandbox/guest/primordials.ts).
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Arena } from "./harness.ts";
import type { Seen } from "./walker.ts";

/** Each engine has its own. */
const isDeno = "Deno" in globalThis;
const LIST = fileURLToPath(new URL(isDeno ? "./reachable-deno.txt" : "./reachable.txt", import.meta.url));
const WALKER = fileURLToPath(new URL("./walker.ts", import.meta.url));

const HEAD = `# What code in a fresh compartment can reach, by its shortest name, with the permission wasm. Renewed by
# XDEV_RENEW=1 bun test test/escape/walk.test.ts, and then to be read: see there.
# native: a function of the engine's; changeable: not frozen.
`;

/** Native, and changeable all the same: each is made anew for who asks. */
const MADE_ANEW: readonly RegExp[] = [
  // Bound functions: `bind`, a promise's resolvers, a formatter's `format`, a proxy's `revoke`.
  /^(bound|promiseResolvers\.(resolve|reject)|proxy\.revoke|\w*[fF]ormat\.format|collator\.compare)$/,
  // The getters that JavaScriptCore makes with each description of the property.
  /^decoder\.__proto__\.(encoding|fatal|ignoreBOM)\{get\}$/,
  // What Deno clones a key by.
  /\.\[Deno\.core\.hostObject\]$/,
  // What a module of WebAssembly exports.
  /^wasm(Exports|Trap|Instance)\b/,
];
/** Shared by the realm, but used by nothing in it but the extension, and too dear to make at each start. */
const LEFT: readonly RegExp[] = [/^(segments|segmentIterator)\.__proto__(\.|$)/];

describe("everything that a compartment reaches", () => {
  let arena: Arena;
  let seen: Seen[];
  before(async () => {
    arena = await Arena.open(isDeno ? "host" : "worker", { granted: { wasm: ["*"] }, extensions: [WALKER] });
    seen = JSON.parse(await arena.invoke("walk", {})) as Seen[];
  });
  after(() => arena.close());

  test("is on the list that was reviewed", () => {
    const lines = seen.map(line).sort();
    if (process.env.XDEV_RENEW === "1") writeFileSync(LIST, `${HEAD}${lines.join("\n")}\n`);
    const listed = readFileSync(LIST, "utf8").split("\n");
    const reviewed = new Set(listed.filter((text) => text !== "" && !text.startsWith("#")));
    assert.deepEqual(
      lines.filter((text) => !reviewed.has(text)),
      [],
      "these were not reviewed",
    );
    const found = new Set(lines);
    assert.deepEqual(
      [...reviewed].filter((text) => !found.has(text)),
      [],
      "these are gone: renew the list",
    );
  });

  test("is frozen if it is the engine's and shared", () => {
    const loose = seen.filter(
      ([name, marks]) => marks.includes("m") && marks.includes("n") && !allowed(name),
    );
    assert.deepEqual(
      loose.map(([name]) => name),
      [],
    );
  });

  test("has no prototype with native methods that can be changed", () => {
    const natives = new Set(seen.filter(([, marks]) => marks.includes("n")).map(([name]) => parent(name)));
    const loose = seen.filter(
      ([name, marks]) => marks === "m" && natives.has(name) && name.endsWith("prototype") && !allowed(name),
    );
    assert.deepEqual(
      loose.map(([name]) => name),
      [],
    );
  });

  test("names one realm's intrinsics alone", () => {
    // A second `Function` or `Error` would be found through something that leads to another realm.
    const doubles = seen.filter(([name]) => /\.constructor\.constructor$/.test(name));
    assert.deepEqual(
      doubles.map(([name]) => name),
      [],
    );
  });
});

function line([name, marks]: Seen): string {
  const kind = marks.includes("n") ? " native" : "";
  return `${name}${kind}${marks.includes("m") ? " changeable" : ""}`;
}

const parent = (name: string): string => name.slice(0, name.lastIndexOf("."));

const allowed = (name: string): boolean => [...MADE_ANEW, ...LEFT].some((pattern) => pattern.test(name));
