/** The part of the command line that is about permissions: the flags of a run, and `xdev ext grant|revoke|permissions|audit`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { AllowFlags, RawPermissions } from "../../sandbox/permissions/flags.ts";
import type { Kind } from "../../sandbox/permissions/permissions.ts";
import { BadValue, parseValue } from "../../sandbox/permissions/values.ts";
import type { CommonOptions } from "./args.ts";

export type PermissionInvocation =
  /** Without permissions: those that it asks for. */
  | {
      command: "ext-grant";
      extension: string;
      permissions: RawPermissions;
      yes: boolean;
      options: CommonOptions;
    }
  | {
      command: "ext-revoke";
      extension: string;
      permissions: RawPermissions;
      all: boolean;
      options: CommonOptions;
    }
  | { command: "ext-permissions"; extension: string; json: boolean; options: CommonOptions }
  | { command: "ext-audit"; extension: string; json: boolean; options: CommonOptions };

const FLAG_KINDS = ["read", "write", "net", "run", "env"] as const;
const FLAG_HELP: Readonly<Record<(typeof FLAG_KINDS)[number], [string, string]>> = {
  read: ["paths", "let extensions read these files; all without a value"],
  write: ["paths", "let extensions write these files"],
  net: ["hosts", "let extensions connect to these hosts"],
  run: ["programs", "let extensions run these programs"],
  env: ["names", "let extensions see these variables"],
};

/** Kinds that `grant` and `revoke` take with a value, and what that is. */
const VALUE_OPTIONS: readonly [Kind, string, string][] = [
  ["read", "paths", "files and folders, with everything below them; * for all"],
  ["write", "paths", "the same, to write"],
  ["net", "hosts", "host, host:port, *.host, an address; * for every public host"],
  ["run", "programs", 'programs, also with leading arguments ("git status"); * for all but shells'],
  ["env", "names", "environment variables; NAME* for all that begin so"],
  ["sys", "values", "hostname, user, cpu, memory"],
  ["session", "access", "write"],
  ["tools", "names", "built-in tools that it may replace"],
];
const BARE_OPTIONS: readonly [Kind, string][] = [
  ["model", "call the model"],
  ["provider", "register a model provider"],
  ["wasm", "WebAssembly"],
];

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

/** Adds `grant`, `revoke`, `permissions` and `audit` to `xdev ext`. */
export function addPermissionCommands(
  ext: Command,
  common: (command: Command) => Command,
  commonOptions: (options: Record<string, unknown>) => CommonOptions,
  found: (invocation: PermissionInvocation) => void,
): void {
  const name = "its name in the data dir, or its path";
  permissionOptions(common(ext.command("grant").description("let an extension do something from now on")))
    .argument("<extension>", name)
    .option("-y, --yes", "without an option: grant all that it asks for, without a question")
    .addHelpText("after", GRANT_HELP)
    .action((extension: string, options: Record<string, unknown>, command: Command) => {
      const permissions = givenPermissions(options);
      const yes = options.yes === true;
      if (yes && Object.keys(permissions).length > 0) {
        command.error("error: --yes is for what it asks for: give it alone, or name what to grant");
      }
      found({ command: "ext-grant", extension, permissions, yes, options: commonOptions(options) });
    });
  permissionOptions(
    common(ext.command("revoke").description("take back what was granted, or denied for good")),
  )
    .argument("<extension>", name)
    .option("--all", "all of it: it is asked about again as if it were new")
    .addHelpText(
      "after",
      "\nExamples:\n  xdev ext revoke notes --read=~/notes\n  xdev ext revoke notes --all",
    )
    .action((extension: string, options: Record<string, unknown>, command: Command) => {
      const permissions = givenPermissions(options);
      const all = options.all === true;
      if (all === Object.keys(permissions).length > 0) command.error("error: name what to revoke, or --all");
      found({ command: "ext-revoke", extension, permissions, all, options: commonOptions(options) });
    });
  const reports = [
    ["permissions", "ext-permissions", "what an extension asks for, and what of it is granted"],
    ["audit", "ext-audit", "what an extension did, and what it was denied"],
  ] as const;
  for (const [word, command, about] of reports) {
    common(ext.command(word).description(about))
      .argument("<extension>", name)
      .option("--json", "print JSON")
      .action((extension: string, options: Record<string, unknown>) =>
        found({ command, extension, json: options.json === true, options: commonOptions(options) }),
      );
  }
}

const GRANT_HELP = `
Several values are separated by commas, or given by the same option again.

Examples:
  xdev ext grant notes                                 look at what it asks for, and answer
  xdev ext grant notes --read=~/notes --net=example.com
  xdev ext grant notes --run="git status"`;

function permissionOptions(command: Command): Command {
  for (const [kind, value, about] of VALUE_OPTIONS) {
    command.addOption(new Option(`--${kind} <${value}>`, about).argParser(valueList(kind)));
  }
  for (const [kind, about] of BARE_OPTIONS) command.option(`--${kind}`, about);
  return command;
}

function givenPermissions(options: Record<string, unknown>): RawPermissions {
  const permissions: RawPermissions = {};
  for (const [kind] of VALUE_OPTIONS) {
    if (Array.isArray(options[kind])) permissions[kind] = options[kind] as string[];
  }
  for (const [kind] of BARE_OPTIONS) if (options[kind] === true) permissions[kind] = ["*"];
  return permissions;
}

function valueList(kind: Kind): (text: string, previous?: string[]) => string[] {
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
