import { addSecret } from "../base/log.ts";

/** The environment that a provider sees: handed in by the caller, never read from the process here. */
export type Env = Readonly<Record<string, string | undefined>>;

export interface Expanded {
  value: string;
  /** Names of variables that are not set or empty, in order of appearance. The value is unusable if there is one. */
  missing: string[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SECRET_NAME = /key|token|secret|password|credential/i;

/**
 * Replaces `${NAME}` by the variable's value; `$${` is a literal `${`, every other `$` is itself. A variable whose name
 * looks like a key's is registered as a secret wherever it is used.
 */
export function expand(text: string, env: Env): Expanded {
  const missing: string[] = [];
  const value = text.replace(REFERENCE, (match: string, name: string | undefined) => {
    if (match === "$${") return "${";
    const found = env[name ?? ""];
    if (!found) {
      missing.push(name ?? "");
      return "";
    }
    if (SECRET_NAME.test(name ?? "")) addSecret(found);
    return found;
  });
  return { value, missing };
}

/** What is wrong with the `${…}` in a value, or undefined: a name that no variable can have, or no closing brace. */
export function referenceProblem(text: string): string | undefined {
  for (const [match, name] of text.matchAll(REFERENCE)) {
    if (match !== "$${" && !NAME.test(name ?? "")) {
      return `\${${name ?? ""}} is not a variable's name; for a literal "\${" write "$\${"`;
    }
  }
  const rest = text.replace(REFERENCE, "");
  return rest.includes("${") ? `a "\${" without its "}"; for a literal "\${" write "$\${"` : undefined;
}
