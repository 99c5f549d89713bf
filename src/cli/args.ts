/**
 * The command line: every command, option and help text, parsed by commander, which nothing else imports. Gives
 * plain data; runs nothing.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { AllowFlags } from "../../sandbox/permissions/flags.ts";
import { VERSION } from "../base/version.ts";
import { didYouMean } from "../config/suggest.ts";
import { HOOK_EVENTS, type HookEvent, isHookEvent } from "../hooks/events.ts";
import {
  addAllowFlags,
  addPermissionCommands,
  allowFlags,
  type PermissionInvocation,
  withFlagValues,
} from "./permission-args.ts";
import {
  addSessionFlags,
  addSessionsCommand,
  type SessionChoice,
  type SessionsInvocation,
  sessionChoice,
} from "./session-args.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;

export interface CommonOptions {
  dataDir?: string;
  cwd?: string;
  verbose?: boolean;
}

export interface RunOptions extends CommonOptions {
  print?: boolean;
  mode: "text" | "json" | "rpc";
  model?: string;
  systemPrompt?: string;
  appendSystemPrompt?: string;
  thinking?: (typeof THINKING_LEVELS)[number];
  maxTurns?: number;
  /** Names given with `--tools`; an empty list for `--no-tools`; undefined for the default. */
  tools?: string[];
  extensions: string[];
  /** False for `--no-extensions`: only those of `-e` are loaded. */
  discover: boolean;
  /** Of `--hook`, in the order given. */
  hooks: { event: HookEvent; command: string }[];
  /** Of `--allow-…`: what extensions may do in this run. */
  allow?: AllowFlags;
  session: SessionChoice;
}

export type Invocation =
  | { command: "run"; prompt: string; files: string[]; options: RunOptions }
  | {
      command: "ext-list";
      json: boolean;
      options: CommonOptions & Pick<RunOptions, "extensions" | "discover">;
    }
  | { command: "ext-inspect"; path: string; json: boolean; options: CommonOptions }
  /** An empty prompt and no files: nothing is asked. */
  | { command: "ext-trace"; extension: string; prompt: string; files: string[]; options: RunOptions }
  | { command: "ext-replay"; file: string; against: string; json: boolean; options: CommonOptions }
  | PermissionInvocation
  | SessionsInvocation
  | { command: "models"; json: boolean; options: CommonOptions }
  /** `folder` is as the user wrote it. */
  | { command: "trust"; folder?: string; yes: boolean; options: CommonOptions }
  | { command: "trust-list"; json: boolean; options: CommonOptions }
  | { command: "distrust"; folder?: string; options: CommonOptions }
  /** Without a name: what there is. */
  | { command: "docs"; page?: string }
  | { command: "docs-schema" | "docs-example"; name?: string }
  /** Nothing to run: help, the version, or a wrong use. `status` is 0 or 2; what is to say has been said. */
  | { command: "none"; status: number };

/** Parses the arguments behind the program's name. Help and errors are written here; never throws for wrong use. */
export function parseArguments(argv: readonly string[]): Invocation {
  let result: Invocation = { command: "none", status: 2 };
  const program = define((invocation) => {
    result = invocation;
  });
  try {
    program.parse(withFlagValues(argv), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { command: "none", status: error.exitCode === 0 ? 0 : 2 };
  }
  return result;
}

function define(found: (invocation: Invocation) => void): Command {
  const program = new Command("xdev")
    .description("A coding agent that keeps its extensions in a sandbox.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(`xdev: ${text.replace(/^error: /, "")}`) })
    .exitOverride()
    .argument("[prompt...]", "what to do; @FILE attaches a text file or an image");

  program.optionsGroup("Run:");
  program
    .addOption(new Option("-p, --print", "print the answer and exit"))
    .addOption(
      new Option(
        "--mode <mode>",
        "text: the answer; json: one event a line; rpc: a program drives the session",
      )
        .choices(["text", "json", "rpc"])
        .default("text"),
    )
    .option("--max-turns <n>", "stop after this many turns", positiveInteger)
    .option("--cwd <dir>", "work in this folder")
    .option("--verbose", "say on standard error what happens");
  program.optionsGroup("Session:");
  addSessionFlags(program);
  program.optionsGroup("Model:");
  program
    .option("--model <provider/id>", "the model; replay:FILE plays a script instead")
    .addOption(new Option("--thinking <level>", "how much the model thinks").choices([...THINKING_LEVELS]))
    .option("--system-prompt <text>", "replace the built-in system prompt")
    .option("--append-system-prompt <text>", "add to the system prompt");
  program.optionsGroup("Tools and extensions:");
  program
    .option("--tools <names>", "only these tools, separated by commas", nameList)
    .option("--no-tools", "no tools at all")
    .option("-e, --extension <path>", "load an extension as well; again and again", collect, [])
    .option("--no-extensions", "load no extension of the data dir")
    .option("--hook <event=command>", "run a shell command on an event; again and again", hook, []);
  program.optionsGroup("Permissions of extensions, for this run:");
  addAllowFlags(program);
  program.optionsGroup("Files:");
  program.option("--data-dir <dir>", "settings and extensions (XDEV_DATA_DIR; default ~/.xdev/agent)");
  program.optionsGroup("Help:");

  program.commandsGroup("Commands:");
  program.addHelpText("after", EXAMPLES);
  program.action((words: string[], options: Record<string, unknown>) => {
    const { prompt, files } = splitWords(words);
    found({ command: "run", prompt, files, options: runOptions(options) });
  });

  // Options before a command's name are meant for the command.
  program.hook("preAction", (_, command) => {
    if (command !== program) passOptions(program, command);
  });

  const ext = program
    .command("ext")
    .description("list, inspect, trace and replay extensions, and grant them permissions")
    .helpCommand("help [command]", "print the help of a command")
    .exitOverride();
  ext.action(() => ext.help({ error: true }));
  common(ext.command("list").description("the extensions that a session would load, and how that goes"))
    .option("-e, --extension <path>", "load an extension as well; again and again", collect, [])
    .option("--no-extensions", "load no extension of the data dir")
    .option("--json", "print JSON")
    .action((options: Record<string, unknown>) =>
      found({
        command: "ext-list",
        json: options.json === true,
        options: {
          ...commonOptions(options),
          extensions: options.extension as string[],
          discover: options.extensions !== false,
        },
      }),
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
  addPermissionCommands(ext, common, commonOptions, found);
  addSessionsCommand(program, common, commonOptions, found);
  common(program.command("models").description("which models are usable, and why the others are not"))
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  xdev models --json")
    .action((options: Record<string, unknown>) =>
      found({ command: "models", json: options.json === true, options: commonOptions(options) }),
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
  return program;
}

const TRUST_HELP = `
Trust is in the files as they were shown: when one of them changes, it is asked for again. What they run or
read elsewhere in the repository is not looked at.

Examples:
  xdev trust                  show what .xdev brings, and ask
  xdev trust --list --json    what is trusted`;

const EXAMPLES = `
Examples:
  xdev -p "why does the build fail?"            ask, and print the answer
  git diff | xdev -p "review this change"       standard input joins the prompt
  xdev -p "describe this" @screenshot.png       attach a file
  xdev -p "fix the tests" -e ./policy.py        with an extension that may deny tool calls
  xdev -p "say hello" --model replay:demo.yml   with a script in the place of a model

Exit status: 0 done, 1 the run failed, 2 wrong use or no model, 130 interrupted.`;

const TRACE_EXAMPLES = `
Examples:
  xdev ext trace ./deny-rm.py                                what it is asked and answers when a session starts
  xdev ext trace deny-rm --model replay:demo.yml -- go       the same for a run; the answer goes to standard error`;

/** Gives what stands before a command's name to the command, and refuses what it does not have. */
function passOptions(program: Command, command: Command): void {
  for (const option of program.options) {
    const name = option.attributeName();
    if (program.getOptionValueSource(name) !== "cli") continue;
    const own = command.options.find((one) => one.attributeName() === name);
    if (!own) command.error(`error: option '${option.flags}' is not one of '${command.name()}'`);
    if (command.getOptionValueSource(name) !== "cli") {
      command.setOptionValueWithSource(name, program.getOptionValue(name), "cli");
    }
  }
}

function common(command: Command): Command {
  return command
    .exitOverride()
    .option("--data-dir <dir>", "settings and extensions (XDEV_DATA_DIR; default ~/.xdev/agent)")
    .option("--cwd <dir>", "work in this folder")
    .option("--verbose", "say on standard error what happens");
}

function commonOptions(options: Record<string, unknown>): CommonOptions {
  const { dataDir, cwd, verbose } = options as CommonOptions;
  return { dataDir, cwd, verbose };
}

function runOptions(options: Record<string, unknown>): RunOptions {
  const given = options as unknown as RunOptions & { extension: string[]; tools?: string[] | boolean };
  return {
    ...commonOptions(options),
    print: given.print,
    mode: given.mode,
    model: given.model,
    systemPrompt: given.systemPrompt,
    appendSystemPrompt: given.appendSystemPrompt,
    thinking: given.thinking,
    maxTurns: given.maxTurns,
    // Commander gives `true` for the absence of `--no-tools`.
    tools: given.tools === false ? [] : Array.isArray(given.tools) ? given.tools : undefined,
    extensions: given.extension,
    discover: (options.extensions as boolean | undefined) !== false,
    hooks: options.hook as RunOptions["hooks"],
    allow: allowFlags(options),
    session: sessionChoice(options),
  };
}

function splitWords(words: readonly string[]): { prompt: string; files: string[] } {
  const isFile = (word: string) => word.length > 1 && word.startsWith("@");
  return {
    prompt: words.filter((word) => !isFile(word)).join(" "),
    files: words.filter(isFile).map((word) => word.slice(1)),
  };
}

function positiveInteger(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It takes a whole number from 1.");
}

function nameList(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw new InvalidArgumentError("It takes names separated by commas.");
}

function hook(text: string, previous: RunOptions["hooks"]): RunOptions["hooks"] {
  const [event = ""] = text.split("=", 1);
  const command = text.slice(event.length + 1);
  if (!isHookEvent(event)) {
    const known = didYouMean(event, HOOK_EVENTS) || ` There are: ${HOOK_EVENTS.join(", ")}.`;
    throw new InvalidArgumentError(`There is no event "${event}".${known}`);
  }
  if (command.trim() === "") throw new InvalidArgumentError("It takes an event, = and a shell command.");
  return [...previous, { event, command }];
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
