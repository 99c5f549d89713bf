/** What an extension tells and asks while the user logs in, at the terminal, or by the lines of a pipe. */
import { isTerminal, print } from "../base/output.ts";
import type { LoginQuestion } from "../extensions/provider-calls.ts";

/** Gives the next line; undefined when there is none any more, or nobody wants it. */
type ReadLine = (signal: AbortSignal) => Promise<string | undefined>;

/** How often a question is put again whose answer does not fit. */
const TRIES = 3;

export interface LoginDialog {
  /** Shows or asks one thing. One question stands at a time. Rejects when there is nobody to answer. */
  question(asked: LoginQuestion): Promise<string | undefined>;
  /** Nobody waits for an answer any more. */
  close(): void;
}

export async function loginDialog(interrupt: AbortSignal): Promise<LoginDialog> {
  const readLine = await lineReader(interrupt);
  const over = new AbortController();
  const signal = AbortSignal.any([interrupt, over.signal]);
  let last: Promise<unknown> = Promise.resolve();
  const oneByOne = (work: () => Promise<string | undefined>): Promise<string | undefined> => {
    const next = last.then(work);
    last = next.catch(() => {});
    return next;
  };
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
  const ask = async (asked: LoginQuestion): Promise<string | undefined> => {
    switch (asked.what) {
      case "prompt": {
        const example = asked.placeholder ? ` (such as ${asked.placeholder})` : "";
        return line(`${asked.message}${example} `, (answer) => answer !== "" || asked.allowEmpty);
      }
      case "manualCode":
        return line("Paste the code, or the address at which the browser ended: ", (answer) => answer !== "");
      case "select": {
        const { options, message } = asked;
        const rows = options.map(({ label }, index) => `  ${index + 1}  ${label}\n`).join("");
        const numberOf = (answer: string) => (/^\d{1,3}$/.test(answer) ? Number(answer) - 1 : -1);
        const answer = await line(
          `${message}\n${rows}Number, or nothing for none: `,
          (given) => given === "" || numberOf(given) in options,
        );
        return answer === "" ? undefined : options[numberOf(answer)]?.id;
      }
    }
    return undefined;
  };
  return {
    async question(asked) {
      switch (asked.what) {
        case "url":
          say(`Open this address in a browser:\n\n  ${asked.url}\n\n`);
          if (asked.instructions) say(`${asked.instructions}\n`);
          return undefined;
        case "deviceCode":
          say(
            `Open this address in a browser, and enter the code ${asked.userCode} there:\n\n  ${asked.url}\n\n`,
          );
          return undefined;
        case "progress":
          say(`${asked.message}\n`);
          return undefined;
        default:
          return oneByOne(() => ask(asked));
      }
    },
    close: () => over.abort(),
  };
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
