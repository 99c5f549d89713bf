/** The part of the command line of a run that is about permissions. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { AllowFlags, RawPermissions } from "../../sandbox/permissions/flags.ts";
import type { Kind } from "../../sandbox/permissions/permissions.ts";
import { BadValue, parseValue } from "../../sandbox/permissions/values.ts";

const FLAG_KINDS = ["read", "write", "net", "run", "env"] as const;
const FLAG_HELP: Readonly<Record<(typeof FLAG_KINDS)[number], [string, string]>> = {
  read: ["paths", "let extensions read these files; all without a value"],
  write: ["paths", "let extensions write these files"],
  net: ["hosts", "let extensions connect to these hosts"],
  run: ["programs", "let extensions run these programs"],
  env: ["names", "let extensions see these variables"],
};

/**
 * Arguments in which a flag without a value has one, so that it does not take the next word for it: `--allow-read "a prompt"` is a
 * flag and a prompt.
 */
export function withFlagValues(argv: readonly string[]): string[] {
  const end = argv.indexOf("--");
  return argv.map((word, index) =>
    (end === -1 || index < end) && FLAG_KINDS.some((kind) => word === `--allow-${kind}`) ? `${word}=*` : word,
  );
}

/** Adds the flags of a run. */
export function addAllowFlags(command: Command): void {
  for (const kind of FLAG_KINDS) {
    const [value, about] = FLAG_HELP[kind];
    command.addOption(new Option(`--allow-${kind} [${value}]`, about).argParser(valueList(kind)));
  }
  command.addOption(
    new Option(
      "--allow-all <name>",
      "let this extension do everything that can be allowed; again and again",
    ).argParser((name: string, previous: string[] = []) => [...previous, name]),
  );
}

export function allowFlags(options: Record<string, unknown>): AllowFlags | undefined {
  const permissions: RawPermissions = {};
  for (const kind of FLAG_KINDS) {
    const given = options[`allow${kind[0]!.toUpperCase()}${kind.slice(1)}`];
    if (Array.isArray(given)) permissions[kind] = given as string[];
  }
  const all = (options.allowAll as string[] | undefined) ?? [];
  return Object.keys(permissions).length === 0 && all.length === 0 ? undefined : { permissions, all };
}

/** Parses values separated by commas, on top of those that were given before. */
export function valueList(kind: Kind): (text: string, previous?: string[]) => string[] {
  return (text, previous = []) => {
    const values = text.split(",");
    for (const value of values) {
      try {
        // Relative paths are relative to the folder of the user; here only their form counts.
        parseValue(kind, value, "/");
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        throw new InvalidArgumentError(`${JSON.stringify(value)} ${error.message}.`);
      }
    }
    return [...previous, ...values];
  };
}
