/**
 * The command line, parsed by commander, which nothing but this and command-args.ts imports. Gives plain data; runs
 * nothing.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { AllowFlags } from "../../sandbox/permissions/flags.ts";
import { VERSION } from "../base/version.ts";
import { didYouMean } from "../config/suggest.ts";
import { HOOK_EVENTS, type HookEvent, isHookEvent } from "../hooks/events.ts";
import type { AuthorInvocation } from "./author-args.ts";
import type { PermissionInvocation, SessionsInvocation } from "./command-args.ts";
import { isOption, type LateWords } from "./extension-flags.ts";
import { addAllowFlags, allowFlags, withFlagValues } from "./permission-args.ts";
import { addSessionFlags, type SessionChoice, sessionChoice } from "./session-args.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export interface CommonOptions {
  dataDir?: string;
  cwd?: string;
  verbose?: boolean;
}

export interface RunOptions extends CommonOptions {
  print?: boolean;
  mode: "text" | "json" | "rpc" | "acp";
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
  /** Extensions are loaded anew when their files change. */
  watch?: boolean;
  /** Of `--hook`, in the order given. */
  hooks: { event: HookEvent; command: string }[];
  /** Of `--allow-…`: what extensions may do in this run. */
  allow?: AllowFlags;
  session: SessionChoice;
}

export type ExtensionOptions = CommonOptions & Pick<RunOptions, "extensions" | "discover">;

export type Invocation =
  /** `late`: words that are perhaps options of extensions; then the prompt and the files are what they leave (`lateWords`). */
  | { command: "run"; prompt: string; files: string[]; options: RunOptions; late?: LateWords }
  /** The help of the program itself, to which extensions add their options. */
  | { command: "help"; text: string; options: RunOptions }
  | {
      command: "ext-list";
      json: boolean;
      options: ExtensionOptions;
    }
  | { command: "ext-inspect"; path: string; json: boolean; options: CommonOptions }
  /** An empty prompt and no files: nothing is asked. */
  | { command: "ext-trace"; extension: string; prompt: string; files: string[]; options: RunOptions }
  | { command: "ext-replay"; file: string; against: string; json: boolean; options: CommonOptions }
  | PermissionInvocation
  | AuthorInvocation
  | SessionsInvocation
  | { command: "models"; json: boolean; options: ExtensionOptions }
  /** Without a provider: which there are. */
  | { command: "login"; provider?: string; options: ExtensionOptions }
  | { command: "logout"; provider?: string; options: CommonOptions }
  /** `folder` is as the user wrote it. */
  | { command: "trust"; folder?: string; yes: boolean; options: CommonOptions }
  | { command: "trust-list"; json: boolean; options: CommonOptions }
  | { command: "distrust"; folder?: string; options: CommonOptions }
  /** Without a name: what there is. */
  | { command: "docs"; page?: string }
  | { command: "docs-schema" | "docs-example"; name?: string }
  /** Nothing to run: help, the version, or a wrong use. `status` is 0 or 2; what is to say has been said. */
  | { command: "none"; status: number };

/** The commands of command-args.ts, and the one that commander adds. */
export const COMMANDS: ReadonlySet<string> = new Set([
  "ext",
  "sessions",
  "models",
  "login",
  "logout",
  "trust",
  "distrust",
  "docs",
  "help",
]);

/** Parses the arguments behind the program's name. Help and errors are written here; never throws for wrong use. */
export async function parseArguments(argv: readonly string[]): Promise<Invocation> {
  let result: Invocation = { command: "none", status: 2 };
  const found = (invocation: Invocation): void => {
    result = invocation;
  };
  let said = "";
  const program = define(found, argv, (text) => {
    said += text;
  });
  // Most starts name no command and ask for no help: to define them all costs a start 2 ms.
  if (argv.some((word) => COMMANDS.has(word) || /^-(?:-help|[^-]*h)/.test(word))) {
    (await import("./command-args.ts")).addCommands(program, found);
  }
  try {
    program.parse(withFlagValues(argv), { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (said.startsWith("Usage: xdev [")) {
      return { command: "help", text: said, options: runOptions(program.opts()) };
    }
    if (said !== "") (await import("../base/output.ts")).print("stdout", said);
    return { command: "none", status: error.exitCode === 0 ? 0 : 2 };
  }
  return result;
}

function define(
  found: (invocation: Invocation) => void,
  argv: readonly string[],
  writeOut: (text: string) => void,
): Command {
  const program = new Command("xdev")
    .description("A coding agent that keeps its extensions in a sandbox.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut,
      outputError: (text, write) => write(`xdev: ${text.replace(/^error: /, "")}`),
    })
    .exitOverride()
    .argument("[prompt...]", "what to do; @FILE attaches a text file or an image");

  program.optionsGroup("Run:");
  program
    .addOption(new Option("-p, --print", "print the answer and exit"))
    .addOption(
      new Option(
        "--mode <mode>",
        "text: the answer; json: one event a line; rpc: a program drives the session; acp: an editor does",
      )
        .choices(["text", "json", "rpc", "acp"])
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
    .option("--watch", "reload extensions when their files change")
    .option("--hook <event=command>", "run a shell command on an event; again and again", hook, []);
  program.optionsGroup("Permissions of extensions, for this run:");
  addAllowFlags(program);
  program.optionsGroup("Files:");
  program.option("--data-dir <dir>", "settings and extensions (XDEV_DATA_DIR; default ~/.xdev/agent)");
  program.optionsGroup("Help:");

  program.commandsGroup("Commands:");
  program.addHelpText("after", EXAMPLES);
  // Extensions bring options of their own: see `lateOptions`.
  program.allowUnknownOption();
  program.action((words: string[], options: Record<string, unknown>) => {
    const run = runOptions(options);
    const late = lateOptions(program, words, argv, run);
    found({ command: "run", ...splitWords(words), options: run, ...(late ? { late } : {}) });
  });

  // Options before a command's name are meant for the command.
  program.hook("preAction", (_, command) => {
    if (command !== program) passOptions(program, command);
  });

  return program;
}

/** Words that xdev does not know and an extension may. Where there can be none, they are an error at once. */
function lateOptions(
  program: Command,
  words: readonly string[],
  argv: readonly string[],
  { extensions, discover }: RunOptions,
): LateWords | undefined {
  const end = argv.indexOf("--");
  // What stands behind `--` is the end of the words.
  const restCount = end === -1 ? 0 : argv.length - end - 1;
  const before = words.slice(0, words.length - restCount).filter((word) => word !== "--");
  const unknown = before.find(isOption);
  if (unknown === undefined) return undefined;
  if (!unknown.startsWith("--") || (extensions.length === 0 && !discover)) {
    refuseOption(program, unknown);
  }
  return { words: before, rest: words.slice(words.length - restCount) };
}

/** The names of xdev's own options, without dashes. */
export function ownOptions(): string[] {
  const program = define(
    () => {},
    [],
    () => {},
  );
  const names = program.options.flatMap(({ long }) => (long ? [long.slice(2)] : []));
  return [...names, "help", "no-help"];
}

/** A sentence that names options like this one, `more` among them; undefined if there is none. */
export function suggestOption(option: string, more: readonly string[]): string | undefined {
  let said = "";
  const nothing = (): void => {};
  const program = define(nothing, [], nothing).configureOutput({
    outputError: (text) => {
      said = text;
    },
  });
  for (const name of more) program.addOption(new Option(`--${name}`));
  try {
    refuseOption(program, option);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return /\((Did you mean .*\?)\)/.exec(said)?.[1];
}

/** Throws, and says, that an option is unknown, as commander does. */
function refuseOption(program: Command, option: string): never {
  program.allowUnknownOption(false);
  return (program as unknown as { unknownOption(flag: string): never }).unknownOption(option);
}

const EXAMPLES = `
Examples:
  xdev -p "why does the build fail?"            ask, and print the answer
  git diff | xdev -p "review this change"       standard input joins the prompt
  xdev -p "describe this" @screenshot.png       attach a file
  xdev -p "fix the tests" -e ./policy.py        with an extension that may deny tool calls
  xdev -p "say hello" --model replay:demo.yml   with a script in the place of a model

Exit status: 0 done, 1 the run failed, 2 wrong use or no model, 130 interrupted.`;

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

export function common(command: Command): Command {
  return command
    .exitOverride()
    .option("--data-dir <dir>", "settings and extensions (XDEV_DATA_DIR; default ~/.xdev/agent)")
    .option("--cwd <dir>", "work in this folder")
    .option("--verbose", "say on standard error what happens");
}

export function commonOptions(options: Record<string, unknown>): CommonOptions {
  const { dataDir, cwd, verbose } = options as CommonOptions;
  return { dataDir, cwd, verbose };
}

export function runOptions(options: Record<string, unknown>): RunOptions {
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
    watch: given.watch,
    discover: (options.extensions as boolean | undefined) !== false,
    hooks: options.hook as RunOptions["hooks"],
    allow: allowFlags(options),
    session: sessionChoice(options),
  };
}

export function splitWords(words: readonly string[]): { prompt: string; files: string[] } {
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

export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
