/** `@oh-my-pi/pi-utils` in a guest: what extensions of that agent use of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

test("extensions of omp find the helpers that they import", async () => {
  using folder = new Folder();
  const file = folder.file(
    "omp.js",
    `import * as u from "@oh-my-pi/pi-utils";
    import { isEnoent, logger } from "@oh-my-pi/pi-utils";
    export default (pi) => pi.registerTool({
      name: "try",
      parameters: {},
      async execute() {
        logger.warn("careful", { a: 1 });
        const aborted = AbortSignal.abort();
        const details = [
          isEnoent(Object.assign(new Error("x"), { code: "ENOENT" })), isEnoent(new Error("x")),
          u.formatDuration(12), u.formatDuration(3400), u.formatDuration(3_720_000), u.formatDuration(180_000),
          u.formatNumber(1234), u.formatBytes(2048), u.truncate("abcdef", 4), u.formatCount("file", 2),
          u.sanitizeText("\\u001b[31mred\\u001b[0m\\r\\n"), u.isRecord([]), u.toError("x").message,
          await u.untilAborted(undefined, async () => 5), await u.untilAborted(aborted, async () => 5).catch((error) => error.name),
          u.once(() => ({})) !== undefined, typeof u.getAgentDir(), typeof u.getProjectDir(), u.parseFrontmatter("---\\na: 1\\n---\\nx").frontmatter.a,
        ];
        return { content: [], details };
      },
    });`,
  );
  await using loaded = await loadExtensions([file]);
  assert.deepEqual(
    loaded.manager.failures().map(({ reason }) => reason),
    [],
  );
  const { details } = await loaded.manager.tools([])[0]!.execute("c", {});
  assert.deepEqual(details, [
    ...[true, false, "12ms", "3.4s", "1h2m", "3m", "1.2K", "2.0KB", "abc…", "2 files", "red\n", false, "x"],
    ...[5, "AbortError", true, "string", "string", 1],
  ]);
});
