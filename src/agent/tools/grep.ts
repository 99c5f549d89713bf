import { resolvePath } from "../../base/files.ts";
import type { BuiltinTool, ToolContext } from "./context.ts";
import { compileGlob } from "./glob.ts";
import { HeadOutput } from "./head-output.ts";
import { eachLine } from "./lines.ts";
import { displayPath, existing, openRegular } from "./paths.ts";
import { compilePattern, type LinePattern } from "./pattern.ts";
import { GREP, GREP_MATCHES } from "./specs.ts";
import { throttle } from "./throttle.ts";
import {
  abortable,
  defineTool,
  type ToolResult,
  type ToolRun,
  textResult,
  throwIfAborted,
  wholeNumber,
} from "./tool.ts";
import { type Entry, walk } from "./walk.ts";

const MAX_CONTEXT = 50;
/** Of a longer line the rest is not searched: so much fits into memory, and no person wrote it. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Up to this size a file is read at once. */
const WHOLE_BYTES = 1024 * 1024;
/** How much of a line is shown. */
const SHOWN_CHARS = 300;
/** How long the search holds the event loop before it lets others run. */
const SLICE_MS = 15;

interface GrepParams {
  pattern: string;
  path?: string;
  glob?: string;
  ignoreCase?: boolean;
  literal?: boolean;
  context?: number;
  limit?: number;
}

/** `grep`: lines of files by regular expression or text, .gitignore respected. */
export function grepTool(context: ToolContext): BuiltinTool {
  return defineTool<GrepParams>({
    ...GREP,
    run: (params, run) => abortable(new Search(context, params, run).run(), run.signal),
  });
}

/** One call's state: what was found, and what has to be said about it. */
class Search {
  readonly #cwd: string;
  readonly #isConfined: boolean | undefined;
  readonly #run: ToolRun;
  readonly #root: string;
  readonly #pattern: LinePattern;
  readonly #glob: (path: string) => boolean;
  readonly #context: number;
  readonly #limit: number;
  readonly #output: HeadOutput;
  #files = 0;
  #matches = 0;
  #more = false;
  #cutLines = 0;
  #unreadable = 0;
  #sliceStart = performance.now();

  constructor(context: ToolContext, params: GrepParams, run: ToolRun) {
    this.#cwd = context.cwd;
    this.#isConfined = context.isConfined;
    this.#run = run;
    this.#root = resolvePath(params.path ?? ".", context.cwd);
    this.#pattern = compilePattern(params.pattern, params);
    const inverted = params.glob?.startsWith("!") === true;
    const matches = params.glob ? compileGlob(inverted ? params.glob.slice(1) : params.glob) : () => true;
    this.#glob = inverted ? (path) => !matches(path) : matches;
    this.#context = Math.min(wholeNumber(params.context, 0, 0), MAX_CONTEXT);
    this.#limit = wholeNumber(params.limit, GREP_MATCHES, 1);
    this.#output = new HeadOutput(context, "grep");
  }

  async run(): Promise<ToolResult> {
    const progress = throttle(250, () =>
      this.#run.update(`${this.#files} files searched, ${this.#matches} matches`),
    );
    try {
      if ((await existing(this.#root, this.#cwd)).isDirectory()) {
        const folders = walk(this.#root, {
          cwd: this.#cwd,
          isConfined: this.#isConfined,
          signal: this.#run.signal,
          onUnreadable: () => this.#unreadable++,
        });
        for await (const entries of folders) {
          for (const entry of entries) {
            if (entry.kind === "file" && this.#glob(entry.relative)) await this.#tryFile(entry);
            progress.run();
            if (this.#more) return this.#result();
          }
        }
      } else if (!(await this.#file(this.#root, false))) {
        throw new Error(`${displayPath(this.#root, this.#cwd)} is a binary file`);
      }
      return this.#result();
    } finally {
      progress.stop();
      this.#output.close();
    }
  }

  async #tryFile(entry: Entry): Promise<void> {
    try {
      await this.#file(entry.path, true);
    } catch (error) {
      throwIfAborted(this.#run.signal);
      if (!(error instanceof Error)) throw error;
      this.#unreadable++;
    }
  }

  /** Searches one file; false if it is binary. */
  async #file(path: string, listed: boolean): Promise<boolean> {
    const { handle, stats } = await openRegular(path, this.#cwd, { listed });
    const name = displayPath(path, this.#cwd);
    // Lines before a possible match, and how many to show after the last one.
    let before: string[] = [];
    let after = 0;
    let lastShown = 0;
    let number = 0;
    this.#files++;
    const show = async (at: number, separator: string, text: string) => {
      // As grep does: a mark where lines are missing between two groups.
      if (this.#context > 0 && this.#output.total > 0 && at !== lastShown + 1) await this.#output.add("--");
      lastShown = at;
      await this.#output.add(`${name}${separator}${at}${separator}${text}`);
    };
    const onMatch = async (line: string, at: number) => {
      if (this.#matches === this.#limit) {
        this.#more = true;
        return false;
      }
      this.#matches++;
      for (const [index, text] of before.entries()) await show(number - before.length + index, "-", text);
      before = [];
      await show(number, ":", excerpt(line, at));
      after = this.#context;
      return true;
    };
    const onOther = (line: string): boolean | Promise<boolean> => {
      if (this.#context === 0) return true;
      if (after > 0) {
        after--;
        return show(number, "-", excerpt(line, 0)).then(() => true);
      }
      before.push(excerpt(line, 0));
      if (before.length > this.#context) before.shift();
      return true;
    };
    const look = (line: string, cut: boolean): boolean | Promise<boolean> => {
      const searched = line.length > this.#pattern.maxLength ? line.slice(0, this.#pattern.maxLength) : line;
      const at = this.#pattern.find(searched);
      if (at !== -1) return onMatch(line, at);
      if (cut || searched.length < line.length) this.#cutLines++;
      return onOther(line);
    };
    const take = (text: string, cut: boolean): boolean | Promise<boolean> => {
      number++;
      const line = text.endsWith("\r") ? text.slice(0, -1) : text;
      if (performance.now() - this.#sliceStart < SLICE_MS) return look(line, cut);
      return this.#giveWay().then(() => look(line, cut));
    };
    try {
      if (stats.size <= WHOLE_BYTES) {
        const bytes = await handle.readFile();
        if (bytes.includes(0)) return false;
        await this.#eachLineOf(decoder.decode(bytes), take);
        return true;
      }
      let binary = false;
      await eachLine(handle, { maxBytes: MAX_LINE_BYTES, signal: this.#run.signal }, ({ bytes, cut }) => {
        binary = bytes.includes(0);
        return !binary && take(decoder.decode(bytes), cut);
      });
      return !binary;
    } finally {
      await handle.close();
    }
  }

  /** A small file is decoded at once: several times faster than line by line. */
  async #eachLineOf(
    text: string,
    take: (line: string, cut: boolean) => boolean | Promise<boolean>,
  ): Promise<void> {
    if (!this.#pattern.mayMatch(text)) return;
    for (let from = 0; from < text.length; ) {
      const end = text.indexOf("\n", from);
      const more = take(text.slice(from, end === -1 ? text.length : end), false);
      if (!(typeof more === "boolean" ? more : await more)) return;
      if (end === -1) return;
      from = end + 1;
    }
  }

  async #giveWay(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    throwIfAborted(this.#run.signal);
    this.#sliceStart = performance.now();
  }

  #result(): ToolResult {
    const notes: string[] = [];
    if (this.#more) notes.push(`More than ${this.#limit} matches; narrow the search or raise limit`);
    if (this.#cutLines > 0)
      notes.push(`${this.#cutLines} very long lines were searched only at their beginning`);
    if (this.#unreadable > 0) notes.push(`${this.#unreadable} files or folders could not be read`);
    const { text, details } = this.#output.finish("No matches", notes);
    return textResult(text, { ...details, matches: this.#matches, files: this.#files });
  }
}

// It leaves out the byte order mark at the beginning, so that `^` finds the first line's text.
const decoder = new TextDecoder();

/** As much of a line as is worth showing, around the match. */
function excerpt(line: string, at: number): string {
  if (line.length <= SHOWN_CHARS) return line;
  const start = at < SHOWN_CHARS - 50 ? 0 : at - 50;
  const end = Math.min(line.length, start + SHOWN_CHARS);
  return `${start > 0 ? "…" : ""}${line.slice(start, end)}${end < line.length ? "…" : ""}`;
}
