/** The commands for who writes an extension: `xdev ext new`, `ext types` and `ext test`. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { RawPermissions } from "../../sandbox/permissions/flags.ts";
import { FLAG_KINDS, KINDS } from "../../sandbox/permissions/permissions.ts";
import { type CommonOptions, common, commonOptions, type Invocation } from "./args.ts";
import { valueList } from "./permission-args.ts";

export const LANGUAGES = ["ts", "python", "sh"] as const;

export type AuthorInvocation =
  /** `folder`: where the new folder is made, as the user wrote it. */
  | {
      command: "ext-new";
      name: string;
      language: (typeof LANGUAGES)[number];
      folder?: string;
      json: boolean;
      options: CommonOptions;
    }
  | { command: "ext-types"; out?: string }
  | {
      command: "ext-test";
      path: string;
      script?: string;
      allow?: TestAllow;
      json: boolean;
      verbose: boolean;
    };

/** Of `--allow`: all that the extension declares, everything, or kinds with their values. */
export type TestAllow = "declared" | "all" | RawPermissions;

/** Adds them to `xdev ext`. */
export function addAuthorCommands(ext: Command, found: (invocation: Invocation) => void): void {
  common(ext.command("new").description("write a small extension that works, to begin with"))
    .argument("<name>", "of its folder: letters, digits, - and _")
    .addOption(
      new Option("--lang <language>", "ts: a module in the sandbox; python, sh: an executable")
        .choices([...LANGUAGES])
        .default("ts"),
    )
    .option("--dir <folder>", "make its folder in this one; default: the current folder")
    .option("--json", "print JSON")
    .addHelpText("after", NEW_HELP)
    .action((name: string, options: Record<string, unknown>) => {
      const { lang, dir, json } = options as {
        lang: (typeof LANGUAGES)[number];
        dir?: string;
        json?: boolean;
      };
      found({
        command: "ext-new",
        name,
        language: lang,
        ...(dir === undefined ? {} : { folder: dir }),
        json: json === true,
        options: commonOptions(options),
      });
    });
  ext
    .command("types")
    .description("print the types of the extension API, for an editor")
    .exitOverride()
    .option("--out <file>", "write them to this file instead")
    .addHelpText("after", "\nExample:\n  xdev ext types --out xdev.d.ts")
    .action((options: Record<string, unknown>) => {
      const { out } = options as { out?: string };
      found({ command: "ext-types", ...(out === undefined ? {} : { out }) });
    });
  ext
    .command("test")
    .description("load an extension in the sandbox, play a script against it, and say what went as expected")
    .exitOverride()
    .argument("<path>", "an executable, a TypeScript or JavaScript module, or a folder with an index module")
    .option("--script <file>", "what to play; default: NAME.test.yml beside it, or test.yml in its folder")
    .addOption(
      new Option(
        "--allow <permission>",
        "what it may do, instead of what the script says: declared, all, or KIND=VALUES; again and again",
      ).argParser(allowed),
    )
    .option("--json", "print JSON")
    .option("--verbose", "say on standard error what happens")
    .addHelpText("after", TEST_HELP)
    .action((path: string, options: Record<string, unknown>) => {
      const { script, allow, json } = options as { script?: string; allow?: TestAllow; json?: boolean };
      found({
        command: "ext-test",
        path,
        ...(script === undefined ? {} : { script }),
        ...(allow === undefined ? {} : { allow }),
        json: json === true,
        verbose: options.verbose === true,
      });
    });
}

function allowed(text: string, previous: TestAllow | undefined): TestAllow {
  if (text === "declared" || text === "all") {
    if (previous === undefined || previous === text) return text;
    throw new InvalidArgumentError(`Give --allow ${text} alone.`);
  }
  if (typeof previous === "string") throw new InvalidArgumentError(`Give --allow ${previous} alone.`);
  const [word = ""] = text.split("=", 1);
  const kind = KINDS.find((one) => one === word);
  if (!kind) {
    throw new InvalidArgumentError(`It takes declared, all, or one of ${KINDS.join(", ")} with =VALUES.`);
  }
  const isBare = word === text;
  if (FLAG_KINDS.has(kind)) {
    if (!isBare) throw new InvalidArgumentError(`${kind} takes no value.`);
    return { ...previous, [kind]: ["*"] };
  }
  const values = valueList(kind)(isBare ? "*" : text.slice(word.length + 1), [...(previous?.[kind] ?? [])]);
  return { ...previous, [kind]: values };
}

const NEW_HELP = `
Examples:
  xdev ext new my-policy --lang ts
  xdev ext new my-policy --lang python --dir ~/src`;

const TEST_HELP = `
It runs with a data dir, a home and a working folder of its own, which are removed at the end. A script that reaches beyond them, or runs the agent's real
tools, is played only if it is named.

Examples:
  xdev ext test ./my-policy
  xdev ext test ./notes.ts --script notes.test.yml --allow read=~/notes --allow session=write

Exit status: 0 as expected, 1 it did not load or a step failed, 2 the script has an error.`;
