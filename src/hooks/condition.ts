/**
 * `if`: a permission spec that says which tool calls a hook is asked about (wire-notes.md, "Shell hooks").
 *
 * - `Bash`: every call of that tool. The name is compared without regard to case; `*` is any tool.
 * - `Bash(git *)`: those whose main argument matches. `*` is any run of characters, slashes included, `?` is one;
 *   everything else is literal. ` *` at the end also matches nothing, so `git *` matches `git`; `git:*` is every
 *   command that begins with `git`.
 * - The main argument is `command` for bash, `path` for read, write, edit and ls, `pattern` or `path` for grep and find,
 *   and any text argument for other tools.
 *
 * Where it is not certain whether a call matches, it does: being asked once too often costs a process, not being asked
 * costs the policy. So a command matches if any part of it does (`cd x && git push`, `sh -c 'git push'`). Still,
 * a shell has more ways to say a thing than a pattern sees: a policy that must see every call has no `if`.
 */
import { resolvePath } from "../base/files.ts";

/** Whether a hook is to be asked about a call. `cwd`: what relative paths in the arguments are relative to. */
export type Condition = (tool: string, args: Record<string, unknown>, cwd: string) => boolean;

const MAIN_ARGUMENTS: Record<string, readonly string[]> = {
  bash: ["command"],
  read: ["path"],
  write: ["path"],
  edit: ["path"],
  ls: ["path"],
  grep: ["pattern", "path"],
  find: ["pattern", "path"],
};

/** Throws with the reason for what is no permission spec. */
export function parseCondition(spec: string): Condition {
  const parts = /^\s*([\w.:-]+|\*)\s*(?:\((.*)\)\s*)?$/s.exec(spec);
  if (!parts) throw new Error("it is no permission spec such as Bash(git *)");
  const wanted = parts[1]!.toLowerCase();
  const pattern = parts[2]?.trim();
  return (tool, args, cwd) => {
    const name = tool.toLowerCase();
    if (wanted !== "*" && wanted !== name) return false;
    if (pattern === undefined || pattern === "" || pattern === "*") return true;
    const texts = mainArguments(name, args);
    if (texts === undefined) return true;
    if (name === "bash") return texts.some((text) => commandParts(text).some((part) => fits(part, pattern)));
    return texts.some((text) =>
      pathForms(text, cwd).some((form) => fits(form, pattern) || fits(form, resolvePath(pattern, cwd))),
    );
  };
}

/** Undefined if a main argument has an unexpected type, or there is none: then nobody knows what the call is about. */
function mainArguments(tool: string, args: Record<string, unknown>): string[] | undefined {
  const keys = Object.hasOwn(MAIN_ARGUMENTS, tool) ? MAIN_ARGUMENTS[tool]! : Object.keys(args);
  const values = keys.map((key) => args[key]).filter((value) => value !== undefined && value !== null);
  if (!Object.hasOwn(MAIN_ARGUMENTS, tool)) {
    const texts = values.filter((value) => typeof value === "string");
    return texts.length > 0 ? texts : undefined;
  }
  return values.length > 0 && values.every((value) => typeof value === "string") ? values : undefined;
}

/**
 * The whole command, and what stands between the characters that can begin a command, each from every word on. White space
 * counts as one space.
 */
function commandParts(command: string): string[] {
  const parts = command.split(/[;&|\n(){}`'"]/);
  const unquoted = command.replace(/['"\\]/g, "");
  return [command, unquoted, ...parts].flatMap((part) => {
    const words = part
      .replace(/(?:\s|\\\n)+/g, " ")
      .trim()
      .split(" ");
    // A command may begin at any word (`if true; then git`, `env git`, `2>x git`), under any path.
    return words.slice(0, MAX_STARTS).flatMap((word, at) => {
      const rest = words.slice(at + 1).join(" ");
      const from = (first: string) => (rest === "" ? first : `${first} ${rest}`);
      const name = word.replaceAll("\\", "");
      return [from(word), from(name.slice(name.lastIndexOf("/") + 1))];
    });
  });
}

/** At how many words of one part a command is looked for. Longer ones are data. */
const MAX_STARTS = 200;

/** As it was written, and absolute, so that `../x` and `/home/me/x` are one. */
function pathForms(path: string, cwd: string): string[] {
  return [path, resolvePath(path, cwd)];
}

function fits(text: string, pattern: string): boolean {
  if (pattern.endsWith(":*")) return text.startsWith(pattern.slice(0, -2));
  return wildcard(text, pattern) || (pattern.endsWith(" *") && text === pattern.slice(0, -2));
}

/** `*` and `?` only, in time proportional to the product of the lengths: no pattern can freeze the program. */
function wildcard(text: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    if (pattern[next] === "*") {
      star = next++;
      resume = at;
    } else if (next < pattern.length && (pattern[next] === "?" || pattern[next] === text[at])) {
      next++;
      at++;
    } else if (star !== -1) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next] === "*") next++;
  return next === pattern.length;
}
