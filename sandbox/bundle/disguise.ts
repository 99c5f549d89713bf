/**
 * Makes a program pass SES's checks of its text without changing what it does. SES can't tell code from text that looks
 * like it; here is the parser that can. Comments go, look-alikes inside literals are escaped, names of properties are
 * written as strings, operators that touch are set apart, and a direct `eval` becomes the indirect one that SES would
 * make of it anyhow. What is not shown to be harmless stays and is refused by the check that follows.
 *
 * Care is taken that no statement begins with a bracket that did not before: where the author relied on the end
 * of a line instead of a semicolon, it would join the line above.
 */
import { type Node, type TaggedTemplateExpression, tokTypes } from "acorn";
import { Edits, onLines } from "./edits.ts";
import { escapeIdentifier, escapeLookAlikes, hasLookAlike, quote } from "./look-alikes.ts";
import { FreshNames, type Parsed, parseModule, type ValueToken, walk } from "./syntax.ts";

/**
 * `source` must parse as a module without import and export. Constants that the result needs are declared at
 * `declareAt`, a position where a statement may stand and which everything else is in the scope of.
 */
export function disguise(source: string, declareAt: number): string {
  const parsed = parseModule(source);
  const facts = collectFacts(parsed.program);
  const edits = new Edits();
  const declared = new Declarations(new FreshNames(parsed.program));

  for (const { start, end } of parsed.comments) {
    const text = source.slice(start, end);
    edits.replace(start, end, onLines(text.startsWith("/*") ? " " : "", text));
  }
  const { tokens } = parsed;
  const afterNew = new Set<number>();
  tokens.forEach((token, i) => {
    if (tokens[i - 1]?.type === tokTypes._new) afterNew.add(token.start);
  });
  for (const template of facts.tagged) {
    rewriteTagged(source, template, afterNew.has(template.start), edits, declared);
  }
  for (let i = 0; i < tokens.length; i++) {
    rewriteToken(source, tokens[i - 1], tokens[i]!, tokens[i + 1], facts, edits, declared);
  }
  edits.insert(declareAt, declared.text());
  return edits.apply(source);
}

interface Facts {
  /** Starts of `eval` where it is called (or made new, which throws). */
  calledEval: Set<number>;
  /** Starts of property names `import` and `eval` in object literals and classes. */
  keys: Set<number>;
  /** Starts of expressions that are statements. */
  statements: Set<number>;
  /** Tagged templates whose raw text holds a look-alike. */
  tagged: TaggedTemplateExpression[];
  /** Where the chunks of those are, by start. */
  rawChunks: Set<number>;
}

function collectFacts(program: Parsed["program"]): Facts {
  const facts: Facts = {
    calledEval: new Set(),
    keys: new Set(),
    statements: new Set(),
    tagged: [],
    rawChunks: new Set(),
  };
  walk(program, (any) => {
    const node = any as Node & { [key: string]: unknown };
    switch (node.type) {
      case "CallExpression":
      case "NewExpression":
        if (isNamed(node.callee, "eval")) facts.calledEval.add((node.callee as Node).start);
        break;
      case "Property":
      case "MethodDefinition":
      case "PropertyDefinition":
        if (!node.computed && !node.shorthand) facts.keys.add((node.key as Node).start);
        break;
      case "ExpressionStatement":
        facts.statements.add(node.start);
        break;
      case "TaggedTemplateExpression": {
        const template = any as TaggedTemplateExpression;
        if (!template.quasi.quasis.some((chunk) => hasLookAlike(chunk.value.raw))) break;
        facts.tagged.push(template);
        for (const chunk of template.quasi.quasis) facts.rawChunks.add(chunk.start);
        if (isNamed(template.tag, "eval")) facts.calledEval.add(template.tag.start);
        break;
      }
    }
  });
  return facts;
}

function isNamed(node: unknown, name: string): boolean {
  const { type, name: own } = node as { type: string; name?: string };
  return type === "Identifier" && own === name;
}

function rewriteToken(
  source: string,
  before: ValueToken | undefined,
  token: ValueToken,
  after: ValueToken | undefined,
  facts: Facts,
  edits: Edits,
  declared: Declarations,
): void {
  const { start, end, type } = token;
  const raw = source.slice(start, end);
  // `a<!--b` and `a-->b`
  if (raw.endsWith("<") && source.startsWith("!--", end)) edits.insert(end, " ");
  if (raw === "--" && source[end] === ">") edits.insert(end, " ");

  if (type === tokTypes.string) {
    if (hasLookAlike(raw)) edits.replace(start, end, escapeLookAlikes(raw));
  } else if (type === tokTypes.template) {
    if (hasLookAlike(raw) && !facts.rawChunks.has(start)) edits.replace(start, end, escapeLookAlikes(raw));
  } else if (type === tokTypes.regexp) {
    const { pattern, flags } = token.value as { pattern: string; flags: string };
    // An escape would show in `.source`.
    if (hasLookAlike(pattern)) {
      edits.replace(start, end, ` new ${declared.regExp()}(${quote(pattern)}, "${flags}")`);
    }
  } else if (facts.calledEval.has(start)) {
    if (after?.type === tokTypes.parenL || after?.type === tokTypes.backQuote) {
      edits.replace(start, end, facts.statements.has(start) ? "void 0,(0,eval)" : "(0,eval)");
    }
  } else if (raw === "import" || raw === "eval") {
    if (facts.keys.has(start)) edits.replace(start, end, nameAsText(raw));
    else if (before) rewriteMember(source, before, token, edits);
  } else if (type === tokTypes.name || type === tokTypes.privateId) {
    const escaped = escapeIdentifier(raw);
    if (escaped !== undefined) edits.replace(start, end, escaped);
  }
}

/** The name of a property as a string in which nothing looks like what it is. */
function nameAsText(name: string): string {
  return name === "import" ? '"i\\x6dport"' : `"${name}"`;
}

/** `a. import` as `a["import"]`, `a?. eval` as `a?.["eval"]`. SES allows the name right behind the dot. */
function rewriteMember(source: string, before: ValueToken, token: ValueToken, edits: Edits): void {
  const dots = source.slice(before.start, before.end);
  if ((dots !== "." && dots !== "?.") || before.end === token.start) return;
  const name = source.slice(token.start, token.end);
  const access = `${dots === "?." ? "?." : ""}[${nameAsText(name)}]`;
  edits.replace(before.start, token.end, onLines(access, source.slice(before.end, token.start)));
}

/**
 * A tag sees the raw text, which has no other spelling: so call it with the object that the template would have made. It
 * is made once for each place in the source, frozen, as the language has it.
 */
function rewriteTagged(
  source: string,
  node: TaggedTemplateExpression,
  isAfterNew: boolean,
  edits: Edits,
  declared: Declarations,
): void {
  const { quasis, expressions, start, end } = node.quasi;
  const site = declared.templateObject(quasis.map((chunk) => chunk.value));
  quasis.forEach((chunk, i) => {
    const isFirst = i === 0;
    const isLast = i === expressions.length;
    // The chunk, with the backquote, `${` and `}` around it.
    const from = isFirst ? start : chunk.start - 1;
    const to = isLast ? end : chunk.end + 2;
    const text = (isFirst ? `(${site}` : ")") + (isLast ? ")" : ",(");
    edits.replace(from, to, onLines(text, source.slice(from, to)));
  });
  // new tag`…`() makes what the tag gives.
  if (isAfterNew) {
    edits.insert(node.start, "(");
    edits.insert(node.end, ")");
  }
}

/** The constants that the rewritten program refers to. */
class Declarations {
  readonly #names: FreshNames;
  readonly #sites: string[] = [];
  #regExp: string | undefined;

  constructor(names: FreshNames) {
    this.#names = names;
  }

  /** A name for the global `RegExp`, which the program may have hidden behind one of its own. */
  regExp(): string {
    this.#regExp ??= this.#names.take("__regExp");
    return this.#regExp;
  }

  templateObject(chunks: { cooked?: string | null; raw: string }[]): string {
    const name = this.#names.take(`__template${this.#sites.length + 1}`);
    const cooked = chunks.map((chunk) => (typeof chunk.cooked === "string" ? quote(chunk.cooked) : "void 0"));
    const raw = chunks.map((chunk) => quote(chunk.raw));
    this.#sites.push(
      `const ${name} = Object.freeze(Object.defineProperty([${cooked.join(", ")}], "raw", ` +
        `{ value: Object.freeze([${raw.join(", ")}]) }));`,
    );
    return name;
  }

  text(): string {
    const regExp = this.#regExp === undefined ? "" : `const ${this.#regExp} = RegExp;`;
    return regExp + this.#sites.join("");
  }
}
