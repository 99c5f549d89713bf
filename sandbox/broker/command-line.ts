/**
 * Command lines without a shell. `exec("git status -s")` of an extension that may run `git` and no shell is run as a program
 * with arguments, if that is all that a shell would make of it.
 */

/** A longer command is left to a shell, in characters: each is looked at, and the agent's loop waits. */
const MAX_COMMAND = 32 * 1024;

/** Unquoted, each means something to a shell, or to some shell. */
const META = /[|&;<>()$`\\*?[\]{}\n\r\0]/;
/** These do at the start of a word. */
const META_AT_START = /[#!~]/;
/** What a shell does itself: a program of that name, if there is one, is not what is meant. */
const BUILT_IN: ReadonlySet<string> = new Set(
  (
    ". : alias bg break cd command continue eval exec exit export fc fg getopts hash jobs local read readonly return " +
    "set shift source time times trap type ulimit umask unalias unset wait " +
    "case do done elif else esac fi for function if in select then until while"
  ).split(" "),
);

/**
 * The words of a command that is one program with arguments and nothing else; undefined if it needs a shell. Both kinds of quotes
 * are allowed, within double quotes nothing that a shell would replace.
 */
export function splitCommand(command: string): string[] | undefined {
  if (command.length > MAX_COMMAND) return undefined;
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < command.length; at++) {
    const char = command[at] as string;
    if (char === " " || char === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'" || char === '"') {
      const end = command.indexOf(char, at + 1);
      if (end < 0) return undefined;
      const quoted = command.slice(at + 1, end);
      if (quoted.includes("\0") || (char === '"' && /[$`\\!]/.test(quoted))) return undefined;
      word = (word ?? "") + quoted;
      at = end;
    } else {
      if (META.test(char) || (word === undefined && META_AT_START.test(char))) return undefined;
      // `--name=value` is an ordinary word; `NAME=value` in front of a program is not.
      if (char === "=" && words.length === 0) return undefined;
      // A home folder, in what may be an assignment.
      if (char === "~" && /[:=]$/.test(word ?? "")) return undefined;
      word = (word ?? "") + char;
    }
  }
  if (word !== undefined) words.push(word);
  const program = words[0];
  return program === undefined || program === "" || BUILT_IN.has(program) ? undefined : words;
}
