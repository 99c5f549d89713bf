/** Prompt templates: `name.md` in a folder `prompts` is the command `/name args`. */
import { errorText } from "../base/errors.ts";
import { ellipsis, oneLine } from "../base/text.ts";
import { lineOf, splitFrontMatter } from "./front-matter.ts";
import {
  diagnostic,
  findResources,
  nameOfPlace,
  type ResourceFile,
  withoutDuplicates,
} from "./resource-files.ts";
import type { ResourceDiagnostic, ResourceOrigin, ResourcePlaces } from "./resources.ts";

export interface PromptTemplate {
  name: string;
  /** Of the front matter, else the first line. */
  description: string;
  argumentHint?: string;
  content: string;
  filePath: string;
  origin: ResourceOrigin;
}

const MAX_DESCRIPTION = 200;
/** What a template may become, in characters: `$@ $@ $@ …` multiplies what was pasted behind it. */
const MAX_EXPANDED = 1024 * 1024;

/** All templates of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadPromptTemplates(
  places: ResourcePlaces,
): Promise<{ templates: PromptTemplate[]; diagnostics: ResourceDiagnostic[] }> {
  const { files, diagnostics } = await findResources("prompt", places);
  const templates: PromptTemplate[] = [];
  for (const file of files) {
    try {
      templates.push(await parseTemplate(file));
    } catch (error) {
      diagnostics.push(diagnostic(file.path, `it is no prompt template: ${errorText(error)}`));
    }
  }
  return { templates: withoutDuplicates(templates, diagnostics), diagnostics };
}

async function parseTemplate({ path, origin, text }: ResourceFile): Promise<PromptTemplate> {
  const name = nameOfPlace(path);
  // A colon is of commands like /skill:name.
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u.test(name))
    throw new Error(`${ellipsis(name, 80)} is no name of a command`);
  const { data, body } = await splitFrontMatter(text);
  if (body === "") throw new Error("it is empty");
  const firstLine = oneLine(body.split("\n", 1)[0] ?? "");
  const argumentHint = lineOf(data, "argument-hint");
  return {
    name,
    description: ellipsis(lineOf(data, "description") ?? firstLine, MAX_DESCRIPTION),
    ...(argumentHint === undefined ? {} : { argumentHint: ellipsis(argumentHint, MAX_DESCRIPTION) }),
    content: body,
    filePath: path,
    origin,
  };
}

/**
 * What `/name args` stands for. Undefined for any other text, and for a name that no template has. Throws if it would be
 * longer than a million characters.
 */
export function expandTemplate(text: string, templates: readonly PromptTemplate[]): string | undefined {
  const command = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const template = command && templates.find(({ name }) => name === command[1]);
  return template ? substituteArguments(template.content, splitArguments(command[2] ?? "")) : undefined;
}

/**
 * The words of a command's arguments. A quote, `"` or `'`, that begins a word goes on to its match, where `\` before the same quote
 * takes it as text; everywhere else, and without a match, a quote is text.
 */
export function splitArguments(text: string): string[] {
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at]!)) at++;
    else {
      const quoted = quotedWord(text, at);
      const end = quoted?.end ?? endOfWord(text, at);
      words.push(quoted?.word ?? text.slice(at, end));
      at = end;
    }
  }
  return words;
}

function endOfWord(text: string, start: number): number {
  const rest = text.slice(start).search(/\s/);
  return rest === -1 ? text.length : start + rest;
}

/** What a quote at `start` holds, if its match ends the word; what follows without a space belongs to it. */
function quotedWord(text: string, start: number): { word: string; end: number } | undefined {
  const quote = text[start];
  if (quote !== '"' && quote !== "'") return undefined;
  let word = "";
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\" && text[at + 1] === quote) word += text[++at];
    else if (char === quote) {
      const end = endOfWord(text, at + 1);
      return { word: word + text.slice(at + 1, end), end };
    } else word += char;
  }
  return undefined;
}

const PLACEHOLDER =
  /\$(?:\{(?:(\d{1,4}|@|ARGUMENTS):-([^}]*)|@:(\d{1,4})(?::(\d{1,4}))?)\}|(\d{1,4})|(@|ARGUMENTS))/g;

/**
 * Puts arguments into a text, once: what an argument or a default says is never looked at again. `$1`, `$@`, `$ARGUMENTS`,
 * `${1:-default}`, `${@:-default}`, `${@:N}` and `${@:N:L}`, counted from 1; what was not given is empty. Throws for a result
 * of more than a million characters.
 */
export function substituteArguments(content: string, args: readonly string[]): string {
  const all = args.join(" ");
  let length = content.length;
  return content.replace(
    PLACEHOLDER,
    (_, which?: string, fallback?: string, from?: string, count?: string, position?: string) => {
      const given = (): string => {
        if (which !== undefined)
          return (/\d/.test(which) ? args[Number(which) - 1] : all) || (fallback ?? "");
        if (from !== undefined) {
          const first = Math.max(0, Number(from) - 1);
          return args.slice(first, count === undefined ? undefined : first + Number(count)).join(" ");
        }
        return position === undefined ? all : (args[Number(position) - 1] ?? "");
      };
      const value = given();
      length += value.length;
      if (length > MAX_EXPANDED) throw new Error("the template with these arguments is too long");
      return value;
    },
  );
}
