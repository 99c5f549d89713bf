/**
 * The check that every source passes before a compartment evaluates it: the bundle, and whatever the guest hands to
 * `eval` and `Function`. SES 2.3 refuses the text `import(`, but engines know more forms (`import.defer(…)` reaches the
 * real `node:fs`) and will know others. Two rules, each on its own:
 *
 * 1. The word `import` does not stand in the text, wherever that is: in code, a string, a regular expression, a
 *    comment. It may only be a part of a longer word, or follow a single `.` or a `#`, where no engine can take it for
 *    the keyword. This rule needs no parser, so no parser can be made to see another program than the engine
 *    does (acorn takes some divisions for regular expressions).
 * 2. The source parses as a script in strict mode, and no token is the keyword `import` unless it is the plain name of a
 *    property. An engine's new syntax is thereby refused until acorn knows it.
 *
 * The bundler writes what is harmless so that it passes (sandbox/bundle/disguise.ts).
 *
 * Everything used here is captured when the module loads: in a guest's worker that is when the first source is to be parsed. By then
 * the guest may have run, but every intrinsic is frozen, and nothing of the guest's is in reach of this realm's globals.
 */
import { type Node, Parser, type Token, tokTypes } from "acorn";
import { checkWords } from "./source-words.ts";

const SourceError = SyntaxError;
const TooDeep = RangeError;
const NumberSet = Set<number>;
const { isArray } = Array;
const { keys } = Object;
const IMPORT = tokTypes._import;

/**
 * acorn, less what a hostile source could hold us up with for minutes, and what the engine checks again anyhow: that a
 * name is declared once (quadratic in acorn), and that a regular expression is valid (acorn has the engine compile it,
 * which for 10,000 named groups takes JavaScriptCore 13 s). Where an expression ends is the same without that.
 */
export const TokenParser: typeof Parser = Parser.extend(
  (Base) =>
    class extends (Base as unknown as new (...args: unknown[]) => Internals) {
      declareName(): void {}
      checkLocalExport(): void {}

      /** As in acorn 8.19, which has read the first slash. */
      readRegexp(): void {
        const start = this.pos;
        let escaped = false;
        let inClass = false;
        for (; ; this.pos++) {
          const char = this.input[this.pos];
          if (char === undefined || isLineBreak(char)) this.raise(start, "Unterminated regular expression");
          if (escaped) {
            escaped = false;
            continue;
          }
          if (char === "/" && !inClass) break;
          if (char === "[") inClass = true;
          else if (char === "]") inClass = false;
          escaped = char === "\\";
        }
        const pattern = this.input.slice(start, this.pos);
        this.pos++;
        const flagsStart = this.pos;
        const flags = this.readWord1();
        if (this.containsEsc || !areFlags(flags)) this.raise(flagsStart, "Invalid regular expression flag");
        this.finishToken(tokTypes.regexp, { pattern, flags, value: null });
      }
    } as unknown as typeof Parser,
);

/** What acorn's types leave out; the version is pinned. */
interface Internals {
  input: string;
  pos: number;
  containsEsc: boolean;
  raise(at: number, message: string): never;
  readWord1(): string;
  finishToken(type: unknown, value: unknown): void;
}

const isLineBreak = (char: string): boolean =>
  char === "\n" || char === "\r" || char === "\u2028" || char === "\u2029";

function areFlags(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const flag = text[i]!;
    let known = false;
    for (let k = 0; k < FLAGS.length; k++) known ||= FLAGS[k] === flag;
    if (!known) return false;
  }
  return true;
}

const FLAGS = "dgimsuvy";

/** Makes the rest strict, as SES's evaluator does. No line break: lines of errors stay right. */
const STRICT = '"use strict";';

/**
 * Throws a SyntaxError if `source` must not be evaluated. It accepts scripts and expressions, and the text that SES's
 * `Function` makes, `(function anonymous(a\n) {\n…\n})`.
 */
export function checkSource(source: string): void {
  if (typeof source !== "string") throw new SourceError("Source is not text");
  checkWords(source);
  const starts: number[] = [];
  const program = parseStrict(source, (token) => {
    if (token.type === IMPORT) starts[starts.length] = token.start;
  });
  if (starts.length === 0) return;
  const names = propertyNames(program);
  for (let i = 0; i < starts.length; i++) {
    const start = starts[i]!;
    if (!names.has(start)) {
      throw new SourceError(`The keyword import is refused here (at character ${start - STRICT.length})`);
    }
  }
}

function parseStrict(source: string, onToken: (token: Token) => void): Node {
  try {
    return TokenParser.parse(STRICT + source, {
      ecmaVersion: "latest",
      sourceType: "script",
      // The engine checks them, and acorn hands each up through every class around it.
      checkPrivateFields: false,
      onToken,
    });
  } catch (error) {
    // Too deeply nested for acorn: not shown to be harmless, hence refused.
    if (error instanceof TooDeep) throw new SourceError("Source is nested too deeply to be checked");
    const message = (error as Error).message;
    throw new SourceError(`Source refused, it does not parse as a strict script: ${message}`);
  }
}

/** The starts of all identifiers `import` that are names of properties, written plainly: `a.import`, `{ import: 1 }`. */
function propertyNames(program: Node): { has(start: number): boolean } {
  const found = new NumberSet();
  visit(program, (node) => {
    const name = plainName(node as unknown as PropertyNode);
    if (name?.type === "Identifier" && name.name === "import") found.add(name.start);
  });
  return found;
}

interface PropertyNode extends Node {
  computed?: boolean;
  shorthand?: boolean;
  key?: NameNode;
  property?: NameNode;
}

interface NameNode extends Node {
  name?: string;
}

function plainName(node: PropertyNode): NameNode | undefined {
  if (node.computed !== false) return undefined;
  switch (node.type) {
    case "MemberExpression":
      return node.property;
    case "Property":
      return node.shorthand === false ? node.key : undefined;
    case "MethodDefinition":
    case "PropertyDefinition":
      return node.key;
    default:
      return undefined;
  }
}

/** Calls `see` for every node below `root`, in no particular order. A loop, so that no depth of nesting overflows it. */
function visit(root: Node, see: (node: Node) => void): void {
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const item = stack[stack.length - 1];
    stack.length--;
    if (typeof item !== "object" || item === null) continue;
    if (isArray(item)) {
      for (let i = 0; i < item.length; i++) stack[stack.length] = item[i];
    } else if (typeof (item as Node).type === "string") {
      see(item as Node);
      const names = keys(item);
      for (let i = 0; i < names.length; i++) {
        stack[stack.length] = (item as Record<string, unknown>)[names[i]!];
      }
    }
  }
}
