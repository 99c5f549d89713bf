/** A Python process that lives as long as the session: what a `$` command defines, the next one has. */

export interface PythonEnd {
  /** `exit`: the code itself ended the process (`sys.exit`, a crash); the next run starts a new one. */
  reason: "done" | "error" | "aborted" | "exit";
}

export class PythonSession {
  constructor(_options: { cwd: string; env: Record<string, string> }) {}

  /**
   * Runs one piece of code; calls wait for each other. `onData` gets what it prints, and the last expression's value. Starts
   * python3 if it does not run; rejects with `XdevError` `no-python` if there is none.
   */
  async run(
    _code: string,
    _options: {
      signal?: AbortSignal | undefined;
      onData(chunk: Buffer, stream: "stdout" | "stderr"): Promise<void> | undefined;
    },
  ): Promise<PythonEnd> {
    throw new Error("not yet");
  }

  /** Ends the process and all that it started. */
  async close(): Promise<void> {}
}
