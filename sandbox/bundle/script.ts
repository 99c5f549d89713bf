/**
 * Turns the linked ES module into a script whose value is an async function of one argument, `__xdev`: the guest's
 * loader. What must hold: every import and export, static or dynamic, becomes a call of that loader; nothing of the
 * module system is left for the engine. The module's own code runs in an inner function, so that none of its
 * names meets ours, with `this` undefined as in a module.
 */
import type {
  CallExpression,
  ExportAllDeclaration,
  ExportDefaultDeclaration,
  ExportNamedDeclaration,
  Identifier,
  ImportDeclaration,
  ImportExpression,
  Literal,
  MetaProperty,
  Node,
  Pattern,
  Program,
} from "acorn";
import { Edits, onLines } from "./edits.ts";
import { quote } from "./look-alikes.ts";
import { readAllName } from "./marks.ts";
import { type BundledFiles, Places } from "./own-places.ts";
import { FreshNames, lineAndColumn, type Parsed, ParseFailure, parseModule, walk } from "./syntax.ts";

export interface Script {
  source: string;
  /** Where constants for the whole script may be declared: before everything else in the outer function. */
  declareAt: number;
  /** How many lines stand before the module's first. */
  addedLines: number;
  /** External specifiers that the code imports, sorted. */
  imports: string[];
}

/**
 * `externals` are the specifiers that were resolved to the guest's loader: no other may be left in `code`; `files` are those
 * whose marks may be in it. Throws ParseFailure, with a position in `code`.
 */
export function moduleToScript(
  code: string,
  externals: ReadonlySet<string>,
  files: BundledFiles = { entry: "", byId: new Map() },
): Script {
  const parsed = parseModule(code);
  return new Translation(code, parsed, externals, files).script();
}

class Translation {
  readonly #code: string;
  readonly #program: Program;
  readonly #externals: ReadonlySet<string>;
  readonly #names: FreshNames;
  readonly #loader: string;
  readonly #edits = new Edits();
  /** By specifier: the constant that holds the module, and the names that are taken from it. */
  readonly #modules = new Map<string, { constant: string; names: Set<string> }>();
  /** Local names for imports. */
  readonly #bindings: string[] = [];
  readonly #reexports: string[] = [];
  readonly #exports: string[] = [];
  readonly #used = new Set<string>();
  #declared: Set<string> | undefined;
  readonly #places: Places;

  constructor(code: string, parsed: Parsed, externals: ReadonlySet<string>, files: BundledFiles) {
    this.#code = code;
    this.#program = parsed.program as Program;
    this.#externals = externals;
    this.#names = new FreshNames(parsed.program);
    this.#loader = this.#names.take("__xdev");
    this.#places = new Places(parsed, code, this.#edits, files, this.#names.take("__links"));
  }

  script(): Script {
    if (this.#code.startsWith("#!")) this.#edits.replace(0, this.#code.search(/[\n\r]|$/), "");
    for (const statement of this.#program.body) this.#statement(statement);
    walk(this.#program, (node) => {
      if (!this.#places.see(node)) this.#expression(node);
    });

    const loader = this.#loader;
    const modules = [...this.#modules].map(
      ([specifier, { constant, names }]) =>
        `const ${constant} = ${loader}.import(${quote(specifier)}, [${[...names].sort().map(quote).join(", ")}]);`,
    );
    const head = `(async (${loader}) => {`;
    // Two lines, so that the module's own code begins on a line of its own.
    const before =
      `${head}${this.#places.declaration(loader)}${modules.join("")}${this.#reexports.join("")}${this.#commonJs()}\n` +
      `await (async function () {${this.#bindings.join("")}\n`;
    const after = `\n;${this.#exports.join("")}\n})();\n})`;
    return {
      source: before + this.#edits.apply(this.#code) + after,
      declareAt: head.length,
      addedLines: 2,
      imports: [...this.#used].sort(),
    };
  }

  /** What CommonJS code finds around it; modules that bring their own hide these. */
  #commonJs(): string {
    const loader = this.#loader;
    const parts: string[] = [];
    if (this.#names.has("require")) parts.push(`const require = (id) => ${loader}.require(id);`);
    if (this.#names.has("__filename")) parts.push(`const __filename = ${loader}.meta.filename;`);
    if (this.#names.has("__dirname")) parts.push(`const __dirname = ${loader}.meta.dirname;`);
    return parts.join("");
  }

  #statement(node: Program["body"][number]): void {
    switch (node.type) {
      case "ImportDeclaration":
        this.#import(node as ImportDeclaration);
        break;
      case "ExportAllDeclaration":
        this.#exportAll(node as ExportAllDeclaration);
        break;
      case "ExportNamedDeclaration":
        this.#exportNamed(node as ExportNamedDeclaration);
        break;
      case "ExportDefaultDeclaration":
        this.#exportDefault(node as ExportDefaultDeclaration);
        break;
    }
  }

  #import(node: ImportDeclaration): void {
    const { constant, names } = this.#module(node);
    for (const specifier of node.specifiers) {
      const local = specifier.local.name;
      if (specifier.type === "ImportNamespaceSpecifier") {
        names.add("*");
        this.#bindings.push(`const ${local} = ${constant};`);
      } else {
        const name = specifier.type === "ImportSpecifier" ? nameOf(specifier.imported) : "default";
        names.add(name);
        this.#bindings.push(`const ${local} = ${constant}[${quote(name)}];`);
      }
    }
    this.#remove(node);
  }

  #exportAll(node: ExportAllDeclaration): void {
    const { constant, names } = this.#module(node);
    names.add("*");
    this.#reexports.push(
      node.exported
        ? `${this.#exportOf(nameOf(node.exported))} = ${constant};`
        : // First of all exports: what the module names itself counts more.
          `for (const name of Object.keys(${constant})) ` +
            `if (name !== "default") ${this.#loader}.exports[name] = ${constant}[name];`,
    );
    if (!node.exported) this.#reexports.unshift(this.#reexports.pop()!);
    this.#remove(node);
  }

  #exportNamed(node: ExportNamedDeclaration): void {
    if (node.source) {
      const { constant, names } = this.#module(node as Node & { source: Literal });
      for (const specifier of node.specifiers) {
        const name = nameOf(specifier.local);
        names.add(name);
        this.#reexports.push(`${this.#exportOf(nameOf(specifier.exported))} = ${constant}[${quote(name)}];`);
      }
      this.#remove(node);
    } else if (node.declaration) {
      const { declaration } = node;
      const locals =
        declaration.type === "VariableDeclaration"
          ? declaration.declarations.flatMap((item) => boundNames(item.id))
          : [declaration.id.name];
      for (const local of locals) this.#exports.push(`${this.#exportOf(local)} = ${local};`);
      this.#edits.replace(
        node.start,
        declaration.start,
        onLines("", this.#text(node.start, declaration.start)),
      );
    } else {
      for (const specifier of node.specifiers) {
        this.#exports.push(`${this.#exportOf(nameOf(specifier.exported))} = ${nameOf(specifier.local)};`);
      }
      this.#remove(node);
    }
  }

  #exportDefault(node: ExportDefaultDeclaration): void {
    const { start, declaration } = node;
    const keyword = this.#text(start, declaration.start);
    const { type } = declaration;
    const isDeclaration = type === "FunctionDeclaration" || type === "ClassDeclaration";
    const id = isDeclaration ? (declaration as { id: Identifier | null }).id : null;
    const target = this.#exportOf("default");
    if (id) {
      this.#edits.replace(start, declaration.start, onLines("", keyword));
      this.#exports.push(`${target} = ${id.name};`);
    } else {
      // In an object literal an anonymous function or class is named "default", as in a module.
      const anonymous = isDeclaration || /^(?:Function|Class|ArrowFunction)Expression$/.test(type);
      this.#edits.replace(
        start,
        declaration.start,
        onLines(`${target} = ${anonymous ? "{ default: " : ""}`, keyword),
      );
      if (anonymous) this.#edits.insert(declaration.end, isDeclaration ? " }.default;" : " }.default");
    }
  }

  #expression(node: Node): void {
    switch (node.type) {
      case "ImportExpression": {
        const { source } = node as ImportExpression;
        this.#edits.replace(node.start, node.start + "import".length, `${this.#loader}.dynamicImport`);
        this.#use(source);
        break;
      }
      case "MetaProperty":
        if ((node as MetaProperty).meta.name === "import") {
          this.#edits.replace(
            node.start,
            node.end,
            onLines(`${this.#loader}.meta`, this.#text(node.start, node.end)),
          );
        }
        break;
      case "CallExpression": {
        // The linkers write `require("external")` as `__require("external")`.
        const { callee, arguments: args } = node as CallExpression;
        if (callee.type !== "Identifier") break;
        if (/^(?:__)?require\d*$/.test(callee.name)) this.#use(args[0]);
        if (/^__reExport\d*$/.test(callee.name)) this.#declareReexport(node, args[1]);
        break;
      }
    }
  }

  #module(node: Node & { source: Literal; attributes?: Node[] }): { constant: string; names: Set<string> } {
    const written = String(node.source.value);
    const specifier = readAllName(written) ?? written;
    if (!this.#externals.has(specifier)) {
      throw this.#failure(node, `${quote(specifier)} can't be imported: the bundler could not look at it`);
    }
    if (node.attributes && node.attributes.length > 0) {
      throw this.#failure(node, `the import attributes of ${quote(specifier)} are not supported`);
    }
    return this.#moduleOf(specifier);
  }

  #moduleOf(specifier: string): { constant: string; names: Set<string> } {
    this.#used.add(specifier);
    let module = this.#modules.get(specifier);
    if (!module) {
      module = { constant: this.#names.take(`__m${this.#modules.size + 1}`), names: new Set() };
      this.#modules.set(specifier, module);
    }
    return module;
  }

  #use(argument: Node | undefined): void {
    const value = argument?.type === "Literal" ? (argument as Literal).value : undefined;
    if (typeof value === "string" && this.#externals.has(value)) this.#used.add(value);
  }

  /** Bun 1.4 forgets to declare the module here, whose name says what it is (marks.ts). */
  #declareReexport(node: Node, module: Node | undefined): void {
    if (module?.type !== "Identifier") return;
    const { name } = module as Identifier;
    this.#declared ??= declaredNames(this.#program);
    if (this.#declared.has(name)) return;
    const specifier = readAllName(name);
    if (specifier === undefined || !this.#externals.has(specifier)) {
      throw this.#failure(
        node,
        `export * from a module of the host (${name}?) is not understood here: name the exports`,
      );
    }
    const { constant, names } = this.#moduleOf(specifier);
    names.add("*");
    this.#edits.replace(module.start, module.end, constant);
  }

  /** The property of the exports object, as the target of an assignment. */
  #exportOf(name: string): string {
    return /^[A-Za-z_]\w*$/.test(name)
      ? `${this.#loader}.exports.${name}`
      : `${this.#loader}.exports[${quote(name)}]`;
  }

  /** The semicolon keeps the lines around a removed statement apart. */
  #remove(node: Node): void {
    this.#edits.replace(node.start, node.end, onLines(";", this.#text(node.start, node.end)));
  }

  #text(start: number, end: number): string {
    return this.#code.slice(start, end);
  }

  #failure(node: Node, message: string): ParseFailure {
    const { line, column } = lineAndColumn(this.#code, node.start);
    return new ParseFailure(message, line, column);
  }
}

function nameOf(node: Identifier | Literal): string {
  return node.type === "Identifier" ? node.name : String(node.value);
}

function boundNames(pattern: Pattern): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((item) =>
        boundNames(item.type === "Property" ? item.value : item.argument),
      );
    case "ArrayPattern":
      return pattern.elements.flatMap((item) => (item ? boundNames(item) : []));
    case "AssignmentPattern":
      return boundNames(pattern.left);
    case "RestElement":
      return boundNames(pattern.argument);
    default:
      return [];
  }
}

function declaredNames(program: Program): Set<string> {
  const names = new Set<string>();
  walk(program, (node) => {
    const { type, id, local } = node as Node & { id?: Pattern; local?: Identifier };
    if (type === "VariableDeclarator" && id) for (const name of boundNames(id)) names.add(name);
    else if (type.startsWith("Import") && local) names.add(local.name);
    else if (id?.type === "Identifier") names.add(id.name);
  });
  return names;
}
