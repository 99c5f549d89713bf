/** What an extension tells and asks while the user logs in, at the terminal, or by the lines of a pipe. */
import { exact, widthOf } from "../../sandbox/permissions/display.ts";
import { isTerminal, print } from "../base/output.ts";
import { visible } from "../base/text.ts";
import type { LoginQuestion } from "../extensions/provider-calls.ts";
import { inTurn } from "./ask.ts";

/** Gives the next line; undefined when there is none any more, or nobody wants it. */
type ReadLine = (signal: AbortSignal) => Promise<string | undefined>;

/** How often a question is put again whose answer does not fit. */
const TRIES = 3;

/** What is told without a question has an end, too. */
const MAX_NEWS = 200;
/** The longest text that is shown of one thing, in UTF-16 units, and how wide it gets. */
const MAX_SHOWN = 2000;
const COLUMNS = 78;

export interface LoginDialog {
  /** Shows or asks one thing of an extension's. One question stands at a time. Rejects when there is nobody to answer. */
  question(asked: LoginQuestion, extension: string): Promise<string | undefined>;
  /** Nobody waits for an answer any more, and nothing more is shown. */
  close(): void;
}

export async function loginDialog(interrupt: AbortSignal): Promise<LoginDialog> {
  const readLine = await lineReader(interrupt);
  const over = new AbortController();
  const signal = AbortSignal.any([interrupt, over.signal]);
  let news = 0;
  const say = (text: string) => print("stderr", text);
  const line = async (text: string, isFit: (answer: string) => boolean): Promise<string> => {
    for (let tries = 0; tries < TRIES; tries++) {
      say(text);
      const answer = await readLine(signal);
      if (answer === undefined) {
        say("\n");
        throw new Error("there is nobody to answer");
      }
      if (isFit(answer.trim())) return answer.trim();
    }
    throw new Error("there was no answer that fits");
  };
  const ask = async (asked: LoginQuestion, extension: string): Promise<string | undefined> => {
    if (signal.aborted) throw new Error("the login is over");
    switch (asked.what) {
      case "prompt": {
        const example = asked.placeholder ? ` (such as ${asked.placeholder})` : "";
        const text = rows(extension, asked.message + example);
        return line(`${text} `, (answer) => answer !== "" || asked.allowEmpty);
      }
      case "manualCode":
        return line(
          rows(extension, "Paste the code, or the address at which the browser ended: "),
          (answer) => answer !== "",
        );
      case "select": {
        const { options, message } = asked;
        const choices = options.map(({ label }, index) => `\n${index + 1}  ${label.slice(0, 200)}`).join("");
        const numberOf = (answer: string) => (/^\d{1,3}$/.test(answer) ? Number(answer) - 1 : -1);
        const answer = await line(
          `${rows(extension, message)}${rows(undefined, choices, options.length * 250)}\nNumber, or nothing for none: `,
          (given) => given === "" || numberOf(given) in options,
        );
        return answer === "" ? undefined : options[numberOf(answer)]?.id;
      }
    }
    return undefined;
  };
  const tell = (text: string): undefined => {
    if (signal.aborted) throw new Error("the login is over");
    if (++news > MAX_NEWS) throw new Error(`said more than ${MAX_NEWS} things while the user logs in`);
    say(text);
  };
  return {
    async question(asked, extension) {
      switch (asked.what) {
        case "url":
          return tell(
            `${rows(extension, "Open this address in a browser:")}\n\n  ${asked.url}\n\n${
              asked.instructions ? `${rows(extension, asked.instructions)}\n` : ""
            }`,
          );
        case "deviceCode": {
          const text = `Open this address in a browser, and enter the code ${asked.userCode.slice(0, 100)} there:`;
          return tell(`${rows(extension, text)}\n\n  ${asked.url}\n\n`);
        }
        case "progress":
          return tell(`${rows(extension, asked.message)}\n`);
        default:
          return inTurn(() => ask(asked, extension));
      }
    },
    close: () => over.abort(),
  };
}

/**
 * A text of an extension's. Each row begins with a sign of that, wherever the terminal would break it: none can look like one of ours.
 * Without a name it goes on with a text of the extension's.
 */
function rows(extension: string | undefined, text: string, most = MAX_SHOWN): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  let row = extension === undefined ? "" : `extension ${exact(extension, 40)}: `;
  const shown: string[] = [];
  for (const char of visible(cut)) {
    const isEnd = char === "\n";
    if (isEnd || widthOf(row) + widthOf(char) > COLUMNS) {
      shown.push(row);
      row = "  | ";
    }
    if (!isEnd) row += char === "\t" ? " " : char;
  }
  return [...shown, row].join("\n");
}

async function lineReader(interrupt: AbortSignal): Promise<ReadLine> {
  if (isTerminal("stdin")) {
    const { terminalDialog } = await import("./ask.ts");
    const dialog = terminalDialog(interrupt);
    if (dialog) return (signal) => dialog.readLine(signal);
  }
  return pipedLines();
}

/** The lines of standard input, one for each question. Read when the first is wanted. */
function pipedLines(): ReadLine {
  let lines: AsyncIterator<string> | undefined;
  return async (signal) => {
    if (signal.aborted) return undefined;
    if (!lines) {
      const { createInterface } = await import("node:readline");
      lines = createInterface({ input: process.stdin, terminal: false })[Symbol.asyncIterator]();
    }
    const next = lines.next();
    const aborted = new Promise<undefined>((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    const result = await Promise.race([next, aborted]);
    return result && !result.done ? result.value : undefined;
  };
}
