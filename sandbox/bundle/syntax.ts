/** Parsing for the bundler's own passes: acorn's tree, tokens and comments of one text, and a walk over the tree. */
import type { Comment, Node, Token } from "acorn";
import { TokenParser } from "../guest/source-check.ts";
import { MAX_TOKENS } from "./limits.ts";

/** acorn's types leave the value out. */
export type ValueToken = Token & { value?: unknown };

export interface Parsed {
  program: Node;
  tokens: ValueToken[];
  comments: Comment[];
}

const TOO_MANY = `more than ${MAX_TOKENS} words and signs of code in one extension`;

/** A place in the text that was parsed: line from 1, column from 1. */
export class ParseFailure extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, line: number, column: number) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

/**
 * Parses as a module: strict, top-level await, and `<!--` is an operator. Throws ParseFailure, also for text that is
 * nested too deeply for acorn.
 */
export function parseModule(source: string): Parsed {
  const tokens: ValueToken[] = [];
  const comments: Comment[] = [];
  try {
    const program = TokenParser.parse(source, {
      checkPrivateFields: false,
      ecmaVersion: "latest",
      sourceType: "module",
      allowHashBang: true,
      onToken: (token) => {
        if (tokens.push(token) > MAX_TOKENS) throw new RangeError(TOO_MANY);
      },
      onComment: comments,
    });
    return { program, tokens, comments };
  } catch (error) {
    if (error instanceof RangeError) {
      const tooMany = error.message === TOO_MANY;
      throw new ParseFailure(tooMany ? TOO_MANY : "nested too deeply", 1, 1);
    }
    const { message, loc } = error as { message: string; loc?: { line: number; column: number } };
    const text = message.replace(/ \(\d+:\d+\)$/, "");
    throw new ParseFailure(text, loc?.line ?? 1, (loc?.column ?? 0) + 1);
  }
}

/** Calls `see` for every node below `root`, each before its children. A loop: nesting can't overflow it. */
export function walk(root: Node, see: (node: Node) => void): void {
  const stack: unknown[] = [root];
  while (stack.length > 0) {
    const item = stack.pop();
    if (typeof item !== "object" || item === null) continue;
    if (Array.isArray(item)) {
      for (let i = item.length - 1; i >= 0; i--) stack.push(item[i]);
    } else if (typeof (item as Node).type === "string") {
      see(item as Node);
      for (const value of Object.values(item).reverse()) stack.push(value);
    }
  }
}

/** Names that occur nowhere in a program. */
export class FreshNames {
  readonly #taken = new Set<string>();

  constructor(program: Node) {
    walk(program, (node) => {
      if (node.type === "Identifier") this.#taken.add((node as Node & { name: string }).name);
    });
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /** `wish`, with as many `$` behind it as it takes. */
  take(wish: string): string {
    let name = wish;
    while (this.#taken.has(name)) name += "$";
    this.#taken.add(name);
    return name;
  }
}

/** The line and column, both from 1, of a position. */
export function lineAndColumn(source: string, at: number): { line: number; column: number } {
  const before = source.slice(0, at).split("\n");
  return { line: before.length, column: before[before.length - 1]!.length + 1 };
}
