/**
 * The command line: every command, option and help text, parsed by commander, which nothing else imports. Gives
 * plain data; runs nothing.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { VERSION } from "../base/version.ts";

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;

export interface CommonOptions {
  dataDir?: string;
  cwd?: string;
  verbose?: boolean;
}

export interface RunOptions extends CommonOptions {
  print?: boolean;
  mode: "text" | "json";
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
}

export type Invocation =
  | { command: "run"; prompt: string; files: string[]; options: RunOptions }
  | {
      command: "ext-list";
      json: boolean;
      options: CommonOptions & Pick<RunOptions, "extensions" | "discover">;
    }
  | { command: "ext-inspect"; path: string; json: boolean; options: CommonOptions }
  | { command: "models"; json: boolean; options: CommonOptions }
  /** Nothing to run: help, the version, or a wrong use. `status` is 0 or 2; what is to say has been said. */
  | { command: "none"; status: number };

/** Parses the arguments behind the program's name. Help and errors are written here; never throws for wrong use. */
export function parseArguments(argv: readonly string[]): Invocation {
  let result: Invocation = { command: "none", status: 2 };
  const program = define((invocation) => {
    result = invocation;
  });
  try {
    program.parse(argv, { from: "user" });
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
      new Option("--mode <mode>", "text: the answer; json: one event a line")
        .choices(["text", "json"])
        .default("text"),
    )
    .option("--max-turns <n>", "stop after this many turns", positiveInteger)
    .option("--cwd <dir>", "work in this folder")
    .option("--verbose", "say on standard error what happens");
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
    .option("--no-extensions", "load no extension of the data dir");
  program.optionsGroup("Files:");
  program.option("--data-dir <dir>", "settings and extensions (XDEV_DATA_DIR; default ~/.xdev/agent)");
  program.optionsGroup("Help:");

  program.commandsGroup("Commands:");
  program.addHelpText("after", EXAMPLES);
  program.action((words: string[], options: Record<string, unknown>) => {
    const { prompt, files } = splitWords(words);
    found({ command: "run", prompt, files, options: runOptions(options) });
  });

  const ext = program
    .command("ext")
    .description("list and inspect extensions")
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
  common(program.command("models").description("which models are usable, and why the others are not"))
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  xdev models --json")
    .action((options: Record<string, unknown>) =>
      found({ command: "models", json: options.json === true, options: commonOptions(options) }),
    );
  return program;
}

const EXAMPLES = `
Examples:
  xdev -p "why does the build fail?"            ask, and print the answer
  git diff | xdev -p "review this change"       standard input joins the prompt
  xdev -p "describe this" @screenshot.png       attach a file
  xdev -p "fix the tests" -e ./policy.py        with an extension that may deny tool calls
  xdev -p "say hello" --model replay:demo.yml   with a script in the place of a model

Exit status: 0 done, 1 the run failed, 2 wrong use or no model, 130 interrupted.`;

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

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
