/** The commands beside a run: `xdev ext …`, `sessions …`, `models`, `trust`, `distrust`, `docs …`, with their help. */
import { type Command, Option } from "commander";
import type { RawPermissions } from "../../sandbox/permissions/flags.ts";
import type { Kind } from "../../sandbox/permissions/permissions.ts";
import {
  type CommonOptions,
  collect,
  common,
  commonOptions,
  type ExtensionOptions,
  type Invocation,
  runOptions,
  splitWords,
} from "./args.ts";
import { addAuthorCommands } from "./author-args.ts";
import { valueList } from "./permission-args.ts";
import { SESSION_DIR } from "./session-args.ts";

type Found = (invocation: Invocation) => void;

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

type InDir = { sessionDir?: string; options: CommonOptions };

export type SessionsInvocation =
  | ({ command: "sessions-list"; json: boolean; all: boolean } & InDir)
  /** `session` is the beginning of an id, or a path. */
  | ({ command: "sessions-show"; session: string; json: boolean } & InDir)
  | ({ command: "sessions-export"; session: string; html: string; json: boolean } & InDir)
  | ({ command: "sessions-delete"; session: string; json: boolean } & InDir);

/** Adds them to the program; `found` is called with the one that is to run. */
export function addCommands(program: Command, found: Found): void {
  const ext = program
    .command("ext")
    .description("list, inspect, write, test, trace and replay extensions, and grant them permissions")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride();
  ext.action(() => ext.help({ error: true }));
  withExtensions(common(ext.command("list")))
    .description("the extensions that a session would load, and how that goes")
    .option("--json", "print JSON")
    .action((options: Record<string, unknown>) =>
      found({ command: "ext-list", json: options.json === true, options: extensionOptions(options) }),
    );
  common(
    ext.command("inspect").description("load one extension as a session would, and print what it registers"),
  )
    .argument("<path>", "an executable, a TypeScript or JavaScript module, or a folder with an index module")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  xdev ext inspect ./my-extension.ts --json")
    .action((path: string, options: Record<string, unknown>) =>
      found({ command: "ext-inspect", path, json: options.json === true, options: commonOptions(options) }),
    );
  common(
    ext
      .command("trace")
      .description("print what passes between xdev and an extension, one JSON object a line"),
  )
    .argument("<extension>", "its name in the data dir, or its path")
    .argument("[prompt...]", "make a run with it, and no other; without one it is only loaded and greeted")
    .option("--model <provider/id>", "the model of the run; replay:FILE plays a script instead")
    .addHelpText("after", TRACE_EXAMPLES)
    .action((extension: string, words: string[], given: Record<string, unknown>) => {
      // What is tried out is no conversation to keep.
      const none = { mode: "text", extension: [], extensions: false, hook: [], session: false };
      const options = runOptions({ ...given, ...none });
      found({ command: "ext-trace", extension, ...splitWords(words), options });
    });
  common(
    ext
      .command("replay")
      .description("send a recorded trace to an extension, and show where its answers differ"),
  )
    .argument("<file>", "what `xdev ext trace` printed")
    .requiredOption("--against <path>", "the extension, by its path or its name in the data dir")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  xdev ext replay trace.ndjson --against ./deny-rm.py\n\nExit status: 0 no difference, 1 differences, 2 the file is no trace.",
    )
    .action((file: string, options: Record<string, unknown>) => {
      const { against, json } = options as { against: string; json?: boolean };
      found({ command: "ext-replay", file, against, json: json === true, options: commonOptions(options) });
    });
  addPermissionCommands(ext, found);
  addAuthorCommands(ext, found);
  addSessionsCommand(program, found);
  withExtensions(common(program.command("models")))
    .description("which models are usable, and why the others are not")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  xdev models --json")
    .action((options: Record<string, unknown>) =>
      found({ command: "models", json: options.json === true, options: extensionOptions(options) }),
    );
  withExtensions(common(program.command("login")))
    .description("log in to a model provider that an extension brings")
    .argument("[provider]", "its name; without one, which there are")
    .action((provider: string | undefined, options: Record<string, unknown>) =>
      found({ command: "login", provider, options: extensionOptions(options) }),
    );
  common(program.command("logout"))
    .description("forget what a login to a model provider gave")
    .argument("[provider]", "its name; without one, which there are")
    .action((provider: string | undefined, options: Record<string, unknown>) =>
      found({ command: "logout", provider, options: commonOptions(options) }),
    );
  common(program.command("trust"))
    .description("look at the hooks, extensions and settings that a repository brings, and let them run")
    .argument("[dir]", "the repository, or a folder in it; default: the current folder")
    .option("-y, --yes", "trust without asking")
    .option("--list", "print what is trusted instead")
    .option("--json", "with --list: print JSON")
    .addHelpText("after", TRUST_HELP)
    .action((folder: string | undefined, options: Record<string, unknown>, command: Command) => {
      const { list, json, yes } = options;
      if (list && (folder !== undefined || yes)) command.error("error: --list takes no folder and no --yes");
      if (json && !list) command.error("error: --json goes with --list");
      if (list) found({ command: "trust-list", json: json === true, options: commonOptions(options) });
      else found({ command: "trust", folder, yes: yes === true, options: commonOptions(options) });
    });
  common(program.command("distrust"))
    .description("withhold again what a repository brings")
    .argument("[dir]", "the repository, or a folder in it; default: the current folder")
    .action((folder: string | undefined, options: Record<string, unknown>) =>
      found({ command: "distrust", folder, options: commonOptions(options) }),
    );
  const docs = program
    .command("docs")
    .description("the manual: lists its pages, or prints one")
    .argument("[page]", "its name")
    .helpCommand(false)
    .addHelpText("after", "\nExamples:\n  xdev docs protocol\n  xdev docs schema config > config.schema.json")
    .exitOverride()
    .action((page: string | undefined) => found({ command: "docs", page }));
  docs
    .command("schema")
    .description("print the JSON Schema of a file that you write; lists them without a name")
    .argument("[name]")
    .exitOverride()
    .action((name: string | undefined) => found({ command: "docs-schema", name }));
  docs
    .command("example")
    .description("print a file that the pages show; lists them without a name")
    .argument("[name]")
    .exitOverride()
    .action((name: string | undefined) => found({ command: "docs-example", name }));
}

/** The options of commands that load a session's extensions. */
function withExtensions(command: Command): Command {
  return command
    .option("-e, --extension <path>", "load an extension as well; again and again", collect, [])
    .option("--no-extensions", "load no extension of the data dir");
}

function extensionOptions(options: Record<string, unknown>): ExtensionOptions {
  return {
    ...commonOptions(options),
    extensions: options.extension as string[],
    discover: options.extensions !== false,
  };
}

const TRUST_HELP = `
Trust is in the files as they were shown: when one of them changes, it is asked for again. What they run or
read elsewhere in the repository is not looked at.

Examples:
  xdev trust                  show what .xdev brings, and ask
  xdev trust --list --json    what is trusted`;

const TRACE_EXAMPLES = `
Examples:
  xdev ext trace ./deny-rm.py                                what it is asked and answers when a session starts
  xdev ext trace deny-rm --model replay:demo.yml -- go       the same for a run; the answer goes to standard error`;

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

/** Adds `grant`, `revoke`, `permissions` and `audit` to `xdev ext`. */
function addPermissionCommands(ext: Command, found: Found): void {
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

const SESSIONS_EXAMPLES = `
Examples:
  xdev sessions                                        those of this folder
  xdev sessions list --all --json                      all, for a program
  xdev sessions show 01a2                              what was said
  xdev sessions export 01a2 --html conversation.html   a page to read or pass on
  xdev sessions delete 01a2`;

function addSessionsCommand(program: Command, found: Found): void {
  const sessions = program
    .command("sessions")
    .description("list, show, export and delete sessions")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", SESSIONS_EXAMPLES)
    .exitOverride();
  const inDir = (options: Record<string, unknown>): InDir => ({
    ...(options.sessionDir === undefined ? {} : { sessionDir: options.sessionDir as string }),
    options: commonOptions(options),
  });
  const define = (command: Command) =>
    common(command)
      .option(...SESSION_DIR)
      .option("--json", "print JSON");

  define(
    sessions
      .command("list", { isDefault: true })
      .description("the sessions of this folder, the last used first"),
  )
    .option("--all", "those of all folders")
    .action((options: Record<string, unknown>) =>
      found({
        command: "sessions-list",
        json: options.json === true,
        all: options.all === true,
        ...inDir(options),
      }),
    );
  const named = (name: string, description: string) =>
    define(sessions.command(name).description(description)).argument(
      "<session>",
      "the beginning of its id, or its file",
    );
  named("show", "print what was said on the branch that goes on").action(
    (session: string, options: Record<string, unknown>) =>
      found({ command: "sessions-show", session, json: options.json === true, ...inDir(options) }),
  );
  named("export", "write it as a file for others to read")
    .requiredOption("--html <file>", "a page without scripts, with everything in it")
    .action((session: string, options: Record<string, unknown>) =>
      found({
        command: "sessions-export",
        session,
        html: options.html as string,
        json: options.json === true,
        ...inDir(options),
      }),
    );
  named("delete", "remove its file, and what was kept for it alone").action(
    (session: string, options: Record<string, unknown>) =>
      found({ command: "sessions-delete", session, json: options.json === true, ...inDir(options) }),
  );
}
