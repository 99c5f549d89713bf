import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Shown {
  tool?: string;
  text: string;
  isError?: boolean;
  verbose?: boolean;
  /** No lookup of renderers at all. */
  bare?: boolean;
}

/** A program that shows one finished tool call in print mode. `ext_files_list` has a table. */
function program({
  tool = "ext_files_list",
  text,
  isError = false,
  verbose = false,
  bare = false,
}: Shown): string {
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  return `
    import { setVerbose } from ${source("base/log.ts")};
    import { rendererLookup } from ${source("extensions/render/lookup.ts")};
    import { createPrintMode } from ${source("modes/print.ts")};
    setVerbose(${verbose});
    const renderers = rendererLookup([{
      extension: "files",
      renderers: [{ tool: "list", kind: "table", columns: ["name", "size"] }],
      tools: new Map([["list", "ext_files_list"]]),
      isAlive: () => true,
    }], () => {});
    const result = { content: [{ type: "text", text: ${JSON.stringify(text)} }], details: undefined };
    (${bare} ? createPrintMode() : createPrintMode({ renderers })).event({
      type: "tool_execution_end", toolCallId: "1", toolName: "${tool}", result, isError: ${isError},
    });`;
}

// The runtime that runs this test.
const command = (code: string) =>
  process.versions.bun === undefined
    ? [process.execPath, "eval", "--no-check", code]
    : [process.execPath, "-e", code];

/** What is written to a standard error that is no terminal. */
function piped(shown: Shown): string {
  const [file, ...args] = command(program(shown));
  const { stdout, stderr } = spawnSync(file!, args, { cwd: root, encoding: "utf8" });
  assert.equal(stdout, "");
  return stderr;
}

/** What is written to a terminal of so many columns. */
function onTerminal(columns: number, shown: Shown, env: Record<string, string> = {}): string {
  const quoted = command(program(shown)).map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const { stdout } = spawnSync(
    "script",
    ["-qec", `stty cols ${columns} -onlcr && ${quoted.join(" ")}`, "/dev/null"],
    { cwd: root, encoding: "utf8", env: { ...process.env, NO_COLOR: "", TERM: "xterm", ...env } },
  );
  return stdout;
}

const noTerminal =
  process.platform !== "linux" || spawnSync("script", ["--version"]).status !== 0
    ? "needs script(1) of util-linux"
    : false;

const rows = JSON.stringify([{ name: "a rather long name", size: 12 }]);

describe("print mode", () => {
  test("draws a tool's result by its renderer on a terminal, as wide as that is", {
    skip: noTerminal,
  }, () => {
    const lines = ["name            size", "--------------  ----", "a rather long…  12", ""];
    const bold = [`\u001b[1m${lines[0]}\u001b[22m`, ...lines.slice(1)];
    assert.equal(onTerminal(20, { text: rows }), ["✓ ext_files_list", ...bold].join("\n"));
    for (const [name, value] of [
      ["NO_COLOR", "1"],
      ["TERM", "dumb"],
    ] as const) {
      assert.equal(
        onTerminal(20, { text: rows }, { [name]: value }),
        ["✓ ext_files_list", ...lines].join("\n"),
      );
    }
  });

  test("shows a result that does not fit its renderer as plain text", { skip: noTerminal }, () => {
    const written = onTerminal(20, { text: "nothing \u001b[2Jfound here today" });
    assert.equal(written, "✓ ext_files_list\nnothing found here\ntoday\n");
  });

  test("without a terminal shows a result with --verbose only, line by line", () => {
    assert.equal(piped({ text: rows }), "");
    assert.equal(
      piped({ text: rows, verbose: true }),
      [
        "xdev [debug] ✓ ext_files_list",
        "xdev [debug] name                size",
        "xdev [debug] ------------------  ----",
        "xdev [debug] a rather long name  12",
        "",
      ].join("\n"),
    );
  });

  test("shows other tools, failures and everything without renderers as ever", () => {
    assert.equal(piped({ tool: "bash", text: rows, verbose: true }), "");
    assert.equal(piped({ text: rows, verbose: true, bare: true }), "");
    const failure = `xdev [debug] ✗ ext_files_list: ${rows}\n`;
    assert.equal(piped({ text: rows, isError: true, verbose: true }), failure);
  });
});
