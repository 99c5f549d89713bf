/** The options of a run that say which session it goes on with, and the commands of `xdev sessions`. */
import { type Command, Option } from "commander";
import type { CommonOptions } from "./args.ts";

/** Which session a run goes on with (run-session.ts). `sessionDir` and `path` are as the user wrote them. */
export type SessionChoice =
  /** Nothing is written. */
  | { kind: "none" }
  | ((
      | { kind: "new" | "continue" }
      /** `id` is the beginning of one, "" if the user gave none. */
      | { kind: "resume"; id: string }
      | { kind: "file" | "fork"; path: string }
    ) & { sessionDir?: string });

type InDir = { sessionDir?: string; options: CommonOptions };

export type SessionsInvocation =
  | ({ command: "sessions-list"; json: boolean; all: boolean } & InDir)
  /** `session` is the beginning of an id, or a path. */
  | ({ command: "sessions-show"; session: string; json: boolean } & InDir)
  | ({ command: "sessions-export"; session: string; html: string; json: boolean } & InDir)
  | ({ command: "sessions-delete"; session: string; json: boolean } & InDir);

const DIR = [
  "--session-dir <dir>",
  "the folder of the session files, instead of one in the data dir",
] as const;

export function addSessionFlags(program: Command): void {
  program
    .addOption(
      new Option("-c, --continue", "go on with the session of this folder that was used last").conflicts([
        "resume",
        "session",
        "fork",
      ]),
    )
    .addOption(
      new Option("-r, --resume [id]", "go on with the session whose id begins so").conflicts([
        "session",
        "fork",
      ]),
    )
    .addOption(
      new Option("--session <path>", "go on with the session in this file, or begin one there").conflicts(
        "fork",
      ),
    )
    .option(
      "--fork <path>",
      "begin a new session with all that this one holds; a file, or the beginning of an id",
    )
    .option("--no-session", "keep nothing")
    .option(...DIR);
}

/** Of the options of a run, and of a command that is like one. */
export function sessionChoice(options: Record<string, unknown>): SessionChoice {
  const given = options as {
    continue?: boolean;
    resume?: string | true;
    session?: string | false;
    fork?: string;
    sessionDir?: string;
  };
  if (given.session === false) return { kind: "none" };
  const inDir = given.sessionDir === undefined ? {} : { sessionDir: given.sessionDir };
  if (given.continue) return { kind: "continue", ...inDir };
  if (given.resume !== undefined) {
    return { kind: "resume", id: given.resume === true ? "" : given.resume, ...inDir };
  }
  if (given.session !== undefined) return { kind: "file", path: given.session, ...inDir };
  if (given.fork !== undefined) return { kind: "fork", path: given.fork, ...inDir };
  return { kind: "new", ...inDir };
}

const EXAMPLES = `
Examples:
  xdev sessions                                        those of this folder
  xdev sessions list --all --json                      all, for a program
  xdev sessions show 01a2                              what was said
  xdev sessions export 01a2 --html conversation.html   a page to read or pass on
  xdev sessions delete 01a2`;

export function addSessionsCommand(
  program: Command,
  common: (command: Command) => Command,
  commonOptions: (options: Record<string, unknown>) => CommonOptions,
  found: (invocation: SessionsInvocation) => void,
): void {
  const sessions = program
    .command("sessions")
    .description("list, show, export and delete sessions")
    .helpCommand("help [command]", "print the help of a command")
    .addHelpText("after", EXAMPLES)
    .exitOverride();
  const inDir = (options: Record<string, unknown>): InDir => ({
    ...(options.sessionDir === undefined ? {} : { sessionDir: options.sessionDir as string }),
    options: commonOptions(options),
  });
  const define = (command: Command) =>
    common(command)
      .option(...DIR)
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
