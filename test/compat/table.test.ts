/** The manual's page on compatibility says what the tests look at. `XDEV_RENEW=1` writes it. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { compatibilityPage } from "./table.ts";

const PAGE = fileURLToPath(new URL("../../src/docs/compatibility.md", import.meta.url));

test("src/docs/compatibility.md is what the expectations make (XDEV_RENEW=1 writes it anew)", () => {
  const page = compatibilityPage();
  if (process.env.XDEV_RENEW === "1") writeFileSync(PAGE, page);
  assert.equal(readFileSync(PAGE, "utf8"), page);
});
