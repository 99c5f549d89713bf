/** `xdev docs`: the manual. Prints and exits; starts no pager. */
import { XdevError } from "../base/errors.ts";
import { isTerminal, outputStream, print } from "../base/output.ts";
import { stripControls } from "../base/text.ts";
import { didYouMean } from "../config/suggest.ts";
import { exampleNames, exampleText, pageText } from "../docs/manual.ts";
import { isPage, PAGES } from "../docs/pages.ts";
import { docFiles } from "../platform/docs.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";

type DocsInvocation = Extract<Invocation, { command: "docs" | "docs-schema" | "docs-example" }>;

/** Longer lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100;

const SCHEMAS: Record<string, string> = {
  config: "config.yml of the data dir, or of a repository's .xdev",
  hook: "a definition in a hooks folder",
  manifest: 'the key "xdev" of an extension\'s package.json',
  models: "models.yml",
  replay: "a file for --model replay:FILE",
  test: "a script for xdev ext test",
};

/** Gives the exit status. Throws `XdevError` with code `usage` for a name that nothing has. */
export async function docs(invocation: DocsInvocation): Promise<number> {
  switch (invocation.command) {
    case "docs":
      print("stdout", await page(invocation.page));
      break;
    case "docs-schema":
      print("stdout", await schema(invocation.name));
      break;
    case "docs-example":
      print("stdout", await example(invocation.name));
      break;
  }
  return EXIT.done;
}

async function page(name: string | undefined): Promise<string> {
  if (name === undefined) {
    const footer =
      "xdev docs PAGE prints one, xdev docs schema NAME a JSON Schema, xdev docs example NAME an example.";
    return `${list(PAGES)}\n${footer}\n`;
  }
  if (!isPage(name)) throw unknown("page", name, Object.keys(PAGES));
  const text = pageText(name, await docFiles());
  if (!isTerminal("stdout")) return text;
  const { forTerminal } = await import("../docs/terminal.ts");
  const width = Math.min(outputStream("stdout").columns || 80, MAX_WIDTH);
  return forTerminal(text, { width, bold: !process.env.NO_COLOR && process.env.TERM !== "dumb" });
}

async function schema(name: string | undefined): Promise<string> {
  if (name === undefined) return list(SCHEMAS);
  const { jsonSchemas } = await import("../config/json-schemas.ts");
  const schemas = await jsonSchemas();
  if (!Object.hasOwn(schemas, name)) throw unknown("schema", name, Object.keys(schemas));
  return `${JSON.stringify(schemas[name], null, 2)}\n`;
}

async function example(name: string | undefined): Promise<string> {
  const files = await docFiles();
  if (name === undefined)
    return exampleNames(files)
      .map((one) => `${one}\n`)
      .join("");
  const text = exampleText(name, files);
  if (text === undefined) throw unknown("example", name, exampleNames(files));
  return text;
}

function list(entries: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(entries).map((name) => name.length));
  return Object.entries(entries)
    .map(([name, summary]) => `${name.padEnd(width)}  ${summary}\n`)
    .join("");
}

function unknown(what: string, name: string, known: readonly string[]): XdevError {
  const guess = didYouMean(name, known);
  return new XdevError("usage", `there is no ${what} ${JSON.stringify(stripControls(name))}.${guess}`, {
    hint: `there are: ${known.join(", ")}`,
  });
}
