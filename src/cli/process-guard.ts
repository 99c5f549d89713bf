/**
 * What holds for every command: signals, errors nobody caught, a reader that went away, and an end at which
 * everything printed has been written.
 */
import { errorText, XdevError } from "../base/errors.ts";
import { log, redact } from "../base/log.ts";
import { flushOutput, onOutputLost, print } from "../base/output.ts";
import { stripControls } from "../base/text.ts";

/** Exit statuses of the command line. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143, hangup: 129 } as const;

/** Errors with these codes are the user's to correct before anything can run: status 2. */
const USAGE_CODES = new Set([
  "usage",
  "no-model",
  "unknown-model",
  "bad-models-file",
  "bad-replay-file",
  "bad-trace",
  "bad-test-script",
  "bad-settings",
  "bad-attachment",
  "not-an-extension",
  "no-session",
  "ambiguous-session",
  "not-a-session",
]);

/**
 * Runs a command and gives the exit status. `interrupt` aborts at the first SIGINT, SIGTERM or SIGHUP, with the
 * exit status as its reason; a second one ends the program at once.
 */
export async function guardProcess(command: (interrupt: AbortSignal) => Promise<number>): Promise<number> {
  const interrupt = new AbortController();
  const onSignal = (status: number) => () => {
    if (interrupt.signal.aborted) process.exit(status);
    interrupt.abort(status);
  };
  process.on("SIGINT", onSignal(EXIT.interrupted));
  process.on("SIGTERM", onSignal(EXIT.terminated));
  process.on("SIGHUP", onSignal(EXIT.hangup));
  // `xdev … | head`: the reader is gone, so there is nobody to work for. A full disk is said: the answer is not whole.
  onOutputLost((code) => {
    if (code !== "EPIPE" && !interrupt.signal.aborted) {
      print(
        "stderr",
        `xdev: standard output cannot be written (${code ?? "unknown error"}): what it holds is not whole\n`,
      );
    }
    interrupt.abort(EXIT.failed);
  });
  process.on("unhandledRejection", (reason) => {
    log.error(`internal error: ${errorText(reason)}`);
    interrupt.abort(EXIT.failed);
  });

  let status: number;
  try {
    status = await command(interrupt.signal);
  } catch (error) {
    status = interrupt.signal.aborted ? EXIT.interrupted : report(error);
  }
  // The last of the output may be what cannot be written.
  await flushOutput(interrupt.signal);
  if (interrupt.signal.aborted) status = interrupt.signal.reason as number;
  process.exit(status);
}

/** Rejects when the user interrupts: `guardProcess` gives the exit status. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new XdevError("aborted", "interrupted"));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

function report(error: unknown): number {
  const hint = error instanceof XdevError && error.hint ? `\n  ${error.hint.replaceAll("\n", "\n  ")}` : "";
  print("stderr", `xdev: ${stripControls(redact(errorText(error) + hint))}\n`);
  return error instanceof XdevError && USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed;
}
