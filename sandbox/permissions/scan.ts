/**
 * What an extension without a declaration seems to use: from the modules that it imports and the literals in its bundle. A guess
 * for the user to look at, nothing more: what it misses is asked for, or denied, when it is used.
 *
 * The text is hostile: it is bounded in length, parsed without running anything, and walked by a loop; so is what comes of it.
 */
import type { Node } from "acorn";
import { splitCommand } from "../broker/command-line.ts";
import { ParseFailure, parseModule, walk } from "../bundle/syntax.ts";
import { canonicalHost } from "./addresses.ts";
import { type Kind, NONE, type Permissions, permissionsOf } from "./permissions.ts";
import { BadValue, formatCommand, parseValue } from "./values.ts";

/** A longer bundle is not parsed, in characters: a megabyte takes about a second. */
const MAX_PARSED = 1_000_000;
/** Of each kind; more than this tells nobody anything. */
const MAX_VALUES = 30;

/** A longer command is not looked at, in characters. */
const MAX_COMMAND = 4000;

const INTERESTING_MODULES = /^(?:node:)?(?:fs|child_process|http|https|os|process)(?:\/|$)/;
const INTERESTING_TEXT = /https?:|wss?:|\bexec\b|\.env\b|WebAssembly|registerProvider|registerTool|tool_call/;

/** Whether a bundle needs no scan: nothing in it looks like anything that takes a permission. */
export function looksIdle(source: string, imports: readonly string[]): boolean {
  return !imports.some((name) => INTERESTING_MODULES.test(name)) && !INTERESTING_TEXT.test(source);
}

export function scanBundle(source: string, imports: readonly string[]): Permissions {
  const found = new Found();
  const modules = new Set(imports.map((name) => name.replace(/^node:/, "")));
  const usesFiles = modules.has("fs") || modules.has("fs/promises");
  try {
    if (source.length <= MAX_PARSED)
      walk(parseModule(source).program, (node) => look(node, found, usesFiles));
    else if (usesFiles) found.writesSomething = true;
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    return NONE;
  }
  if (usesFiles) {
    // Whatever else it reads, it reads where the user works.
    found.add("read", "$CWD");
    if (found.writesSomething) found.add("write", "$CWD");
  }
  if (modules.has("child_process") && !found.has("run")) found.add("run", "*");
  if (found.changesInput && source.includes("tool_call")) {
    for (const name of found.toolNames.size > 0 ? found.toolNames : ["*"]) found.add("tools", name);
  }
  return found.permissions();
}

class Found {
  readonly #values = new Map<Kind, Set<string>>();
  writesSomething = false;
  /** It changes the arguments of calls. */
  changesInput = false;
  /** The built-in tools whose names stand in it. */
  readonly toolNames = new Set<string>();

  add(kind: Kind, text: string): void {
    const values = this.#values.get(kind) ?? new Set();
    this.#values.set(kind, values);
    if (values.size >= MAX_VALUES) return;
    try {
      values.add(parseValue(kind, text));
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
    }
  }

  has(kind: Kind): boolean {
    return (this.#values.get(kind)?.size ?? 0) > 0;
  }

  permissions(): Permissions {
    return permissionsOf(
      [...this.#values].flatMap(([kind, values]) => [...values].map((value) => ({ kind, value }))),
    );
  }
}

type Any = Node & {
  name?: string;
  value?: unknown;
  callee?: Any;
  object?: Any;
  property?: Any;
  computed?: boolean;
  arguments?: Any[];
  left?: Any;
  argument?: Any;
  quasis?: { value: { cooked?: string | null }; tail: boolean }[];
  expressions?: Any[];
  properties?: Any[];
  elements?: (Any | null)[];
  key?: Any;
};

const READERS =
  /^(?:readFile|readdir|open|opendir|stat|lstat|access|exists|createReadStream|watch|watchFile|realpath|readlink|cp|copyFile)(?:Sync)?$/;
const WRITERS =
  /^(?:writeFile|appendFile|mkdir|mkdtemp|rm|rmdir|unlink|rename|truncate|chmod|utimes|symlink|link|createWriteStream)(?:Sync)?$/;
const RUNNERS = /^(?:exec|execSync|execFile|execFileSync|spawn|spawnSync|fork)$/;
const SYS_CALLS: Readonly<Record<string, string>> = {
  hostname: "hostname",
  userInfo: "user",
  cpus: "cpu",
  loadavg: "cpu",
  totalmem: "memory",
  freemem: "memory",
};
const BUILTIN_TOOLS = new Set(["read", "write", "edit", "bash", "grep", "find", "ls", "todo"]);
/** Variables that every extension has a value for, or that tell nothing. */
const PLAIN_VARIABLES = new Set([
  "HOME",
  "PATH",
  "NODE_ENV",
  "TMPDIR",
  "PWD",
  "DEBUG",
  "NO_COLOR",
  "FORCE_COLOR",
  "CI",
]);
/** Hosts of names that look like addresses and are none to connect to. */
const NAMESPACES = /(?:^|\.)(?:w3\.org|json-schema\.org|schema\.org|purl\.org|xmlsoap\.org)$/;

function look(node: Node, found: Found, usesFiles: boolean): void {
  const any = node as Any;
  switch (node.type) {
    case "Literal":
      if (typeof any.value !== "string") break;
      lookForHost(any.value, true, found);
      if (BUILTIN_TOOLS.has(any.value)) found.toolNames.add(any.value);
      break;
    case "TemplateLiteral": {
      const [first] = any.quasis ?? [];
      if (first) lookForHost(first.value.cooked ?? "", first.tail, found);
      break;
    }
    case "MemberExpression":
      if (any.object?.type === "MemberExpression" && nameOf(any.object.property) === "env") {
        const name = any.computed ? textOf(any.property) : any.property?.name;
        if (name !== undefined && /^[A-Z][A-Z0-9_]*$/.test(name) && !PLAIN_VARIABLES.has(name))
          found.add("env", name);
      }
      break;
    case "AssignmentExpression":
    case "UpdateExpression":
      if (isInput((any.left ?? any.argument)?.object)) found.changesInput = true;
      break;
    case "Identifier":
      if (any.name === "WebAssembly") found.add("wasm", "*");
      break;
    case "CallExpression":
      lookAtCall(any, found, usesFiles);
      break;
  }
}

/** `isWhole` says whether the text ends here: in a template the host may go on. */
function lookForHost(text: string, isWhole: boolean, found: Found): void {
  const match = /^(?:https?|wss?):\/\/(?:[^/?#@\s]*@)?(\[[^\]]*\]|[^/?#:@\s]+)(?::(\d{1,5}))?([/?#]|$)/i.exec(
    text,
  );
  if (!match || (match[3] === "" && !isWhole)) return;
  const host = canonicalHost(match[1]!);
  if (host === undefined || NAMESPACES.test(host)) return;
  const shown = host.includes(":") ? `[${host}]` : host;
  found.add("net", match[2] === undefined ? shown : `${shown}:${match[2]}`);
}

function lookAtCall(call: Any, found: Found, usesFiles: boolean): void {
  const name = nameOf(call.callee?.type === "MemberExpression" ? call.callee.property : call.callee);
  const [first, second] = call.arguments ?? [];
  if (name === undefined) return;
  if (usesFiles && (READERS.test(name) || WRITERS.test(name))) {
    const path = first && pathOf(first);
    const writes = WRITERS.test(name);
    if (writes) found.writesSomething = true;
    if (path !== undefined) found.add(writes ? "write" : "read", path);
  } else if (RUNNERS.test(name) && first) {
    lookAtCommand(name, first, second, found);
  } else if (name === "registerProvider") {
    found.add("provider", "*");
  } else if (name === "registerTool") {
    const member = first?.properties?.find((one) => nameOf(one.key) === "name") as
      | { value?: Any }
      | undefined;
    const tool = member?.value && textOf(member.value);
    if (tool !== undefined && BUILTIN_TOOLS.has(tool)) found.add("tools", tool);
  } else if (Object.hasOwn(SYS_CALLS, name) && call.callee?.type === "MemberExpression") {
    found.add("sys", SYS_CALLS[name]!);
  }
}

function lookAtCommand(name: string, first: Any, second: Any | undefined, found: Found): void {
  const text = textOf(first);
  if (text === undefined || text.length > MAX_COMMAND) return;
  // `pi.exec(program, args)` and `spawn` take a program; `exec` of child_process takes a line, for a shell if it takes one.
  const isLine = /^exec(?:Sync)?$/.test(name) && second?.type !== "ArrayExpression" && /\s/.test(text);
  const program = isLine ? (splitCommand(text)?.[0] ?? "sh") : text;
  if (/^[\w./@+-]+$/.test(program)) found.add("run", formatCommand([program]));
}

/** A path that a call is given, as far as it can be read off: a literal, or `join(homedir(), "…")`. */
function pathOf(node: Any): string | undefined {
  const text = textOf(node);
  if (text !== undefined) {
    if (/^(?:\/|~\/|~$)/.test(text)) return text;
    return /^[\w.][^:*]*$/.test(text) && !text.includes("..")
      ? `$CWD/${text.replace(/^\.\//, "")}`
      : undefined;
  }
  if (node.type !== "CallExpression") return undefined;
  const name = nameOf(node.callee?.type === "MemberExpression" ? node.callee.property : node.callee);
  const [first, ...rest] = node.arguments ?? [];
  if ((name !== "join" && name !== "resolve") || !first) return undefined;
  const base = textOf(first) ?? folderOf(first);
  const parts: string[] = [];
  for (const one of rest) {
    const part = textOf(one);
    // What follows something computed lies below what is known so far.
    if (part === undefined) break;
    parts.push(part);
  }
  if (base === undefined || !/^[/~$]/.test(base) || parts.some((part) => part.includes("..")))
    return undefined;
  return [base, ...parts].join("/").replace(/\/{2,}/g, "/");
}

function folderOf(node: Any): string | undefined {
  const called = node.type === "CallExpression" ? node.callee : undefined;
  const name = nameOf(called?.type === "MemberExpression" ? called.property : called);
  if (name === "homedir") return "$HOME";
  if (name === "tmpdir") return "$TMP";
  if (name === "cwd") return "$CWD";
  const isHome = node.type === "MemberExpression" && nameOf(node.property) === "HOME";
  const isCwd = node.type === "MemberExpression" && nameOf(node.property) === "cwd";
  return isHome ? "$HOME" : isCwd ? "$CWD" : undefined;
}

/** `event.input`, or something in it. */
function isInput(node: Any | undefined): boolean {
  for (let one = node; one?.type === "MemberExpression"; one = one.object) {
    if (nameOf(one.property) === "input") return true;
  }
  return false;
}

function nameOf(node: Any | undefined): string | undefined {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  // The bundle calls imports as `(0, name)`.
  if (node?.type === "SequenceExpression")
    return nameOf((node as Any & { expressions: Any[] }).expressions.at(-1));
  return node?.type === "MemberExpression" ? nameOf(node.property) : undefined;
}

/** A text that is written out. */
function textOf(node: Any | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral" && node.expressions?.length === 0)
    return node.quasis?.[0]?.value.cooked ?? undefined;
  return undefined;
}
