/**
 * Options that extensions bring (`pi.registerFlag`). Which there are is known when the extensions have loaded: until then what xdev
 * does not know of a command line is kept, and no word behind it is taken for the prompt for good.
 */
import { XdevError } from "../base/errors.ts";
import type { ExtensionManager } from "../extensions/manager.ts";
import type { OfferedFlag } from "../extensions/offers.ts";
import type { RunState } from "./run-extensions.ts";

/** The words of a command line that are no options of xdev's, those that begin with a dash among them. */
export interface LateWords {
  words: readonly string[];
  /** Words behind `--`: never options. */
  rest: readonly string[];
}

/** As guests get them (`About.flags`): by the option's name, the text behind `=` and the word that follows. */
export type GivenFlags = Record<string, { value: string | null; next: string | null }>;

/** A sentence that names what is like an option, among xdev's own and these; undefined if nothing is. */
type Suggest = (option: string, more: readonly string[]) => string | undefined;

const OPTION = /^--([A-Za-z][\w-]*)(?:=([\s\S]*))?$/;

export function isOption(word: string): boolean {
  return word.length > 1 && word.startsWith("-");
}

export function givenFlags({ words }: LateWords): GivenFlags {
  const given: GivenFlags = {};
  for (const [index, word] of words.entries()) {
    const [, name, value] = OPTION.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    given[name] = { value: value ?? null, next: next === undefined || isOption(next) ? null : next };
  }
  return given;
}

/**
 * The words of the prompt, and the flags' values. Throws `XdevError` with code `usage` for an option that nobody has, and for a text
 * that is missing.
 */
export function takeFlags(
  { words, rest }: LateWords,
  flags: readonly OfferedFlag[],
  suggest: Suggest,
): { words: string[]; values: Map<string, boolean | string> } {
  const values = new Map<string, boolean | string>();
  const prompt: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (!isOption(word)) {
      prompt.push(word);
      continue;
    }
    const [, name, value] = OPTION.exec(word) ?? [];
    const flag = flags.find((one) => one.name === name);
    const negated = flags.find((one) => one.type === "boolean" && `no-${one.name}` === name);
    if (flag?.type === "string") {
      const next = words[at + 1];
      const isNext = value === undefined && next !== undefined && !isOption(next);
      if (value === undefined && !isNext) throw new XdevError("usage", `--${flag.name} takes a text`);
      values.set(flag.name, value ?? next!);
      if (isNext) at++;
    } else if (flag) values.set(flag.name, value === undefined || !/^(?:false|no|off|0)$/i.test(value));
    else if (negated) values.set(negated.name, false);
    else throw unknownOption(word, flags, suggest);
  }
  return { words: [...prompt, ...rest], values };
}

function unknownOption(word: string, flags: readonly OfferedFlag[], suggest: Suggest): XdevError {
  const [option = word] = word.split("=", 1);
  const brought = flags.map(({ name }) => `--${name}`).join(", ");
  const hint =
    suggest(
      option,
      flags.map(({ name }) => name),
    ) ?? (brought === "" ? undefined : `extensions have ${brought}`);
  return new XdevError("usage", `unknown option '${option}'`, hint === undefined ? {} : { hint });
}

/**
 * What the flags of extensions that have loaded make of a command line: whose flag has which value is kept in `state`, and what is
 * left are the prompt and the files (undefined if there was nothing to find out). Throws what `takeFlags` throws.
 */
export async function registeredFlags(
  manager: ExtensionManager,
  state: Pick<RunState, "flags">,
  late: LateWords | undefined,
): Promise<{ prompt: string; files: string[] } | undefined> {
  const hasFlags = manager.extensions.some(({ capabilities }) => (capabilities?.flags.length ?? 0) > 0);
  if (!hasFlags && !late) return undefined;
  const { ownOptions, splitWords, suggestOption } = await import("./args.ts");
  const flags = manager.offers.flags(new Set(ownOptions()));
  const taken = late && takeFlags(late, flags, suggestOption);
  state.flags = flags.map(({ extension, name, default: value }) => ({
    extension: extension.name,
    name,
    value: taken?.values.get(name) ?? value,
  }));
  return taken && splitWords(taken.words);
}
