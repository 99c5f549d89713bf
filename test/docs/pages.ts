/** The pages of the manual, as tests look at them. */
import { type Invocation, parseArguments } from "../../src/cli/args.ts";
import { pageText } from "../../src/docs/manual.ts";
import { PAGES, type PageName } from "../../src/docs/pages.ts";
import { readDocFiles } from "../../src/platform/docs.ts";

export const files = await readDocFiles();
export const PAGE_NAMES = Object.keys(PAGES) as PageName[];

/** A page as `xdev docs` prints it. */
export function page(name: PageName): string {
  return pageText(name, files);
}

export interface Fence {
  /** What stands behind the three backticks: `yaml config`. */
  info: string;
  text: string;
}

export function fencesOf(markdown: string): Fence[] {
  const found = markdown.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, info = "", text = ""]) => ({ info, text }));
}

/** The targets of all links. */
export function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
}

/** Every command line of xdev in a block of sh, as words without `xdev`. */
export function commandsOf(markdown: string): string[][] {
  const blocks = fencesOf(markdown).filter(({ info, text }) => info === "sh" && !text.startsWith("#!"));
  return blocks.flatMap(({ text }) => text.split("\n")).flatMap(commandsIn);
}

/** Those that a text mentions; some only by the command's name. */
export function mentionsOf(markdown: string): string[][] {
  const prose = markdown.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/`(xdev [^`]+)`/g)].flatMap((match) => commandsIn(match[1]!));
}

/** The commands of a line, at `|`, `&&` and `>`, as far as a page needs a shell. */
function commandsIn(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [word] of line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)) {
    if (["|", "&&", ">"].includes(word)) commands.push([]);
    else commands.at(-1)!.push(word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  }
  return commands.filter(([first]) => first === "xdev").map(([, ...words]) => words);
}

/** Parses without a word on the test's own output, and gives what would have been said on standard error. */
export async function parseQuietly(
  words: readonly string[],
): Promise<{ invocation: Invocation; complaint: string }> {
  const { stdout, stderr } = process;
  const [writeOut, writeError] = [stdout.write, stderr.write];
  let complaint = "";
  stdout.write = () => true;
  stderr.write = (text) => {
    complaint += text;
    return true;
  };
  try {
    const invocation = await parseArguments(words);
    return { invocation, complaint };
  } finally {
    stdout.write = writeOut;
    stderr.write = writeError;
  }
}
