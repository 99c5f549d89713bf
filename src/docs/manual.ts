/**
 * A page of the manual with its examples put in. An example is a file of `examples/`, which tests run, so that a page can't
 * say something else than what works.
 */
import type { DocFiles } from "../platform/docs.ts";
import type { PageName } from "./pages.ts";

const INCLUDE = /^<!-- include: (\S+) -->\n/gm;
const EXAMPLES = "examples/";

/** The page as Markdown. Throws if it, or a file that it includes, is not there; a test sees to it that they are. */
export function pageText(name: PageName, files: DocFiles): string {
  return fileText(`${name}.md`, files).replace(INCLUDE, (_, path: string) => fileText(path, files));
}

/** The paths that a page includes. */
export function includesOf(page: string): string[] {
  return [...page.matchAll(INCLUDE)].map((match) => match[1]!);
}

/** The names of the examples, sorted. */
export function exampleNames(files: DocFiles): string[] {
  const paths = Object.keys(files).filter((path) => path.startsWith(EXAMPLES));
  return paths.map((path) => path.slice(EXAMPLES.length)).sort();
}

export function exampleText(name: string, files: DocFiles): string | undefined {
  const path = EXAMPLES + name;
  return Object.hasOwn(files, path) ? files[path] : undefined;
}

/** The types of the extension API, as one file: the parts of `types/` in the order of their names. */
export function apiTypes(files: DocFiles): string {
  const parts = Object.keys(files).filter((path) => path.startsWith("types/"));
  return parts
    .sort()
    .map((path) => files[path])
    .join("\n");
}

function fileText(path: string, files: DocFiles): string {
  const text = Object.hasOwn(files, path) ? files[path] : undefined;
  if (text === undefined) throw new Error(`there is no ${path} in src/docs`);
  return text.endsWith("\n") ? text : `${text}\n`;
}
