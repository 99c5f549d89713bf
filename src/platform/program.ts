/** A running program, alike on every runtime. */
export interface Program {
  /** Its process id, which is also its group's; undefined if it could not be started. */
  readonly pid: number | undefined;
  /**
   * Writes to its standard input; never throws or rejects. Resolves when the program, or the pipe to it, has taken it: true, or
   * false if it reads no more. Who does not wait for that keeps in memory what it does not read.
   */
  write(data: string | Uint8Array): Promise<boolean>;
  endInput(): void;
  /**
   * Reads both outputs. If the listener returns a promise, no more is read from that stream until it resolves. Call it
   * once, right after the start.
   */
  read(listener: OutputListener): void;
  /** Stops reading, all or one of them: a program that writes on is told that nobody listens. */
  release(output?: "stdout" | "stderr"): void;
  /** How it ended. Rejects with the system's error if it could not be started. */
  readonly exited: Promise<ProgramEnd>;
  /** Resolves when both outputs are closed: that is when the last program that holds them ends. */
  readonly drained: Promise<void>;
}

export type OutputListener = (chunk: Buffer, stream: "stdout" | "stderr") => void | Promise<void> | undefined;

export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ProgramOptions {
  cwd: string;
  env: Record<string, string>;
  /** What the program is told that it was started as; the file by default. */
  argv0?: string | undefined;
  /** The outputs that nobody wants: the program writes them to nowhere. */
  discard?: readonly ("stdout" | "stderr")[];
}

export type StartProgram = (file: string, args: readonly string[], options: ProgramOptions) => Program;
