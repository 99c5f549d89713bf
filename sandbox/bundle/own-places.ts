/**
 * The marks of marks.ts in the linked program: each becomes a call of the functions in guest/api/links.ts with the file that it stood
 * in, or, where it is not what it looked like, what it was before.
 */
import { dirname } from "node:path/posix";
import { type Node, tokTypes } from "acorn";
import type { Edits } from "./edits.ts";
import { quote } from "./look-alikes.ts";
import { readMark, withoutMarks } from "./marks.ts";
import type { Parsed } from "./syntax.ts";

export interface BundledFile {
  /** Relative to the root of the bundle, with `/`. */
  path: string;
  /** What literals of `require.resolve` and `import.meta.resolve` mean: `./…` from the root, or empty for the loader's. */
  resolved: Record<string, string>;
}

export interface BundledFiles {
  /** The entry, relative to the root. */
  entry: string;
  /** By the id in a file's marks. */
  byId: ReadonlyMap<string, BundledFile>;
  /** The root of the bundle, where linkers write whole paths. */
  root?: string;
}

type AnyNode = Node & {
  name?: string;
  value?: unknown;
  callee?: AnyNode;
  object?: AnyNode;
  property?: AnyNode;
  arguments?: AnyNode[];
  params?: AnyNode[];
  key?: AnyNode;
  id?: AnyNode;
  init?: AnyNode | null;
};

export class Places {
  readonly #edits: Edits;
  readonly #files: BundledFiles;
  readonly #links: string;
  readonly #folders: ReadonlySet<string>;
  readonly #done = new Set<Node>();
  readonly #resolved: Record<string, Record<string, string>> = {};
  #used = false;

  /** `links` is a name that is free for the functions of guest/api/links.ts. */
  constructor(parsed: Parsed, code: string, edits: Edits, files: BundledFiles, links: string) {
    this.#edits = edits;
    this.#files = files;
    this.#links = links;
    this.#folders = new Set([...files.byId.values()].map(({ path }) => dirname(path)));
    // Linkers name modules by their whole paths.
    const whole = `xdev:${files.root}/`;
    if (!code.includes("__xdev") && !code.includes(whole)) return;
    for (const { type, start, end } of parsed.tokens) {
      if (type !== tokTypes.string && type !== tokTypes.template && type !== tokTypes.regexp) continue;
      const raw = code.slice(start, end);
      const plain = withoutMarks(raw).replaceAll(whole, "xdev:");
      if (plain !== raw) edits.replace(start, end, plain);
    }
  }

  /** The constant that everything here refers to; nothing if nothing does. No line break. */
  declaration(loader: string): string {
    if (!this.#used) return "";
    const resolved = quote(JSON.stringify(this.#resolved));
    return `const ${this.#links} = ${loader}.links(${quote(this.#files.entry)}, JSON.parse(${resolved}));`;
  }

  /** Whether `node` was dealt with here. Called for every node, parents first. */
  see(any: Node): boolean {
    const node = any as AnyNode;
    if (this.#done.has(node)) return true;
    switch (node.type) {
      case "CallExpression":
      case "NewExpression":
        return this.#call(node);
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        this.#parameters(node);
        return false;
      case "MethodDefinition":
      case "PropertyDefinition":
      case "Property":
        this.#key(node.key);
        return false;
      case "VariableDeclarator":
        this.#written(node);
        return false;
      case "Identifier":
        return this.#name(node);
      default:
        return false;
    }
  }

  #call({ callee, arguments: args }: AnyNode): boolean {
    const first = args?.[0];
    const mark = this.#markOf(first);
    if (!callee || !args || !first || !mark) return false;
    const by = this.#markOf(callee);
    const path = () => quote(mark.file.path);
    if ((by?.kind === "Load" && mark.kind === "Loads") || (by?.kind === "Make" && mark.kind === "Needs")) {
      this.#replace(callee, `${this.#use(mark.file)}.${by.kind === "Load" ? "load" : "make"}`);
      this.#edits.insert(first.start, `${path()}, `);
      this.#done.add(first);
      return true;
    }
    if (mark.kind !== "Need" || args.length < 3) return false;
    const member = callee.type === "MemberExpression" ? callee.property?.name : undefined;
    if (isRequire(callee) || (isRequire(callee.object) && member === "resolve")) {
      this.#replace(callee, `${this.#use(mark.file)}.${member === "resolve" ? "pathOf" : "need"}`);
      this.#replace(first, path());
    } else {
      // A function of the author's own with that name.
      this.#remove(args, 2);
    }
    this.#done.add(first).add(args[1] as Node);
    return true;
  }

  #parameters({ params = [] }: AnyNode): void {
    const kind = this.#markOf(params[0])?.kind;
    if (kind === "Loads" || kind === "Needs") this.#remove(params, 1);
    else if (kind === "Need") this.#remove(params, 2);
  }

  /** The first `count` of a list, which has more. */
  #remove(list: AnyNode[], count: number): void {
    const next = list[count];
    if (!next) return;
    this.#edits.replace(list[0]!.start, next.start, "");
    for (const node of list.slice(0, count)) this.#done.add(node);
  }

  /** A method that is called `import`. */
  #key(key: AnyNode | undefined): void {
    if (this.#markOf(key)?.kind !== "Load") return;
    this.#replace(key as AnyNode, "import");
  }

  /** Bun writes `var __dirname = "/whole/path"`, which would make another bundle of the same code elsewhere. */
  #written({ id, init }: AnyNode): void {
    const { root } = this.#files;
    const [, what] = /^__(dirname|filename)\d*$/.exec(id?.name ?? "") ?? [];
    if (!what || root === undefined || init?.type !== "Literal" || typeof init.value !== "string") return;
    const path =
      init.value === root ? "." : init.value.startsWith(`${root}/`) ? init.value.slice(root.length + 1) : "";
    const known =
      what === "dirname"
        ? this.#folders.has(path)
        : [...this.#files.byId.values()].some((file) => file.path === path);
    if (!known) return;
    this.#used = true;
    this.#replace(init, `${this.#links}.at(${quote(path)})`);
  }

  #name(node: AnyNode): boolean {
    const mark = this.#markOf(node);
    if (!mark) return false;
    const { kind, file } = mark;
    const member =
      kind === "Meta" ? "" : kind === "Folder" ? ".dirname" : kind === "File" ? ".filename" : undefined;
    if (member === undefined) return false;
    this.#replace(node, `${this.#use(file)}.meta(${quote(file.path)})${member}`);
    return true;
  }

  #markOf(node: AnyNode | undefined) {
    if (node?.type !== "Identifier" || node.name === undefined) return undefined;
    const mark = readMark(node.name);
    const file = mark && this.#files.byId.get(mark.id);
    return file && { kind: mark.kind, file };
  }

  #use(file: BundledFile): string {
    this.#used = true;
    if (Object.keys(file.resolved).length > 0) this.#resolved[file.path] = file.resolved;
    return this.#links;
  }

  #replace(node: AnyNode, text: string): void {
    this.#edits.replace(node.start, node.end, text);
    this.#done.add(node);
  }
}

/** The linkers' name for a `require` that is not the author's. */
function isRequire(node: AnyNode | undefined): boolean {
  return node?.type === "Identifier" && /^__require\d*$/.test(node.name ?? "");
}
