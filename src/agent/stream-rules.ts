/** Stream rules: files of `rules/` with a regular expression (`ttsr`) that ends the model's turn when its stream matches. */
import { errorText } from "../base/errors.ts";
import { ellipsis } from "../base/text.ts";
import { lineOf, listOf, splitFrontMatter } from "./front-matter.ts";
import {
  diagnostic,
  findResources,
  nameOfPlace,
  type ResourceFile,
  withoutDuplicates,
} from "./resource-files.ts";
import type { ResourceDiagnostic, ResourceOrigin, ResourcePlaces } from "./resources.ts";
import { compileStreamPattern, type StreamPattern } from "./stream-pattern.ts";
import { compileGlob } from "./tools/glob.ts";

export { RuleWatch } from "./rule-watch.ts";

export interface StreamRule {
  /** The file's name without `.md`. */
  name: string;
  description?: string;
  /** What the model is told. */
  text: string;
  /** The regular expressions as they were written, and compiled. */
  patterns: readonly string[];
  matchers: readonly StreamPattern[];
  /** Where it looks: one of these is enough. */
  scopes: readonly StreamScope[];
  filePath: string;
  origin: ResourceOrigin;
}

export interface StreamScope {
  /** The model's answer, its thinking, or the arguments of its tool calls. */
  kind: "text" | "thinking" | "tool";
  /** Calls of this tool; undefined for all. */
  tool?: string;
  /** Calls about a file whose path matches one; undefined for all. */
  globs?: readonly ((path: string) => boolean)[];
}

const MAX_DESCRIPTION = 200;
const MAX_PATTERNS = 20;
const MAX_GLOB = 200;

/** All rules of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadStreamRules(
  places: ResourcePlaces,
): Promise<{ rules: StreamRule[]; diagnostics: ResourceDiagnostic[] }> {
  const { files, diagnostics } = await findResources("rule", places);
  const rules: StreamRule[] = [];
  for (const file of files) {
    try {
      rules.push(await parseRule(file));
    } catch (error) {
      diagnostics.push(diagnostic(file.path, `it is no stream rule: ${errorText(error)}`));
    }
  }
  return { rules: withoutDuplicates(rules, diagnostics), diagnostics };
}

async function parseRule({ path, origin, text }: ResourceFile): Promise<StreamRule> {
  const name = nameOfPlace(path);
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u.test(name))
    throw new Error(`${ellipsis(name, 80)} is no name`);
  const { data, body } = await splitFrontMatter(text);
  const sources = listOf(data, "ttsr");
  if (sources.length === 0)
    throw new Error("its front matter has no ttsr, the regular expression that it waits for");
  if (sources.length > MAX_PATTERNS) throw new Error(`it has more than ${MAX_PATTERNS} regular expressions`);
  if (body === "") throw new Error("it has no text that the model could be told");
  const matchers = sources.map((source) => {
    try {
      return compileStreamPattern(source);
    } catch (error) {
      throw new Error(`ttsr ${ellipsis(source, 80)}: ${errorText(error)}`);
    }
  });
  const globs = listOf(data, "globs").map(globOf);
  const description = lineOf(data, "description");
  return {
    name,
    ...(description === undefined ? {} : { description: ellipsis(description, MAX_DESCRIPTION) }),
    text: body,
    patterns: sources,
    matchers,
    scopes: scopesOf(listOf(data, "scope"), globs),
    filePath: path,
    origin,
  };
}

/** `text`, `thinking`, `tool`, `tool:NAME`, `tool(GLOB)`, `tool:NAME(GLOB)`, in a list or with commas between them. */
function scopesOf(written: readonly string[], globs: NonNullable<StreamScope["globs"]>): StreamScope[] {
  const words = written.flatMap((line) => line.split(/,(?![^(]*\))/)).map((word) => word.trim());
  const wanted = words.filter((word) => word !== "");
  return (wanted.length === 0 ? ["text", "tool"] : wanted).map((word): StreamScope => {
    if (word === "text" || word === "thinking") return { kind: word };
    const call = /^tool(?::([\w-]{1,64}))?(?:\(([^)]*)\))?$/.exec(word);
    if (!call)
      throw new Error(
        `scope ${ellipsis(word, 80)}: write text, thinking, tool, tool:NAME or tool:NAME(GLOB)`,
      );
    const [, tool, glob] = call;
    const own = glob === undefined ? globs : [globOf(glob)];
    return {
      kind: "tool",
      ...(tool === undefined ? {} : { tool }),
      ...(own.length === 0 ? {} : { globs: own }),
    };
  });
}

function globOf(text: string): (path: string) => boolean {
  const glob = text.trim();
  if (glob === "" || glob.length > MAX_GLOB || glob.split("*").length > 8) {
    throw new Error(`${ellipsis(glob, 80)} is no glob, or one that is too long`);
  }
  return compileGlob(glob);
}

/** What the model is told in place of the turn that was cut. */
export function ruleMessage(rules: readonly StreamRule[]): string {
  const blocks = rules.map(({ name, text }) => `<rule name="${name}">\n${text}\n</rule>`);
  const [which, them] = rules.length === 1 ? ["a rule", "it"] : ["rules", "them"];
  return `Your message was cut off and is not kept, because it went against ${which} of the user. Do the same step again and follow ${them}.\n\n${blocks.join("\n\n")}`;
}

/** A rule as plain data, as the event `ttsr_triggered` has it. */
export function ruleData({ name, description, filePath, text, patterns, origin }: StreamRule) {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    path: filePath,
    content: text,
    ttsr: [...patterns],
    origin,
  };
}
