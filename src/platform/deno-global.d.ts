/** What src/platform uses of Deno's own global: the program is checked with Bun's and Node's types. */
declare namespace Deno {
  const stdin: { readonly readable: ReadableStream<Uint8Array> };
  const stdout: { readonly writable: WritableStream<Uint8Array> };
  function execPath(): string;
  function exit(code: number): never;

  interface CommandOptions {
    args: string[];
    cwd: string;
    env: Record<string, string>;
    clearEnv: boolean;
    stdin: "piped";
    stdout: "piped";
    stderr: "piped";
    detached: boolean;
  }
  class Command {
    constructor(file: string, options: CommandOptions);
    /** Throws the system's error. */
    spawn(): {
      readonly pid: number;
      readonly stdin: WritableStream<Uint8Array>;
      readonly stdout: ReadableStream<Uint8Array>;
      readonly stderr: ReadableStream<Uint8Array>;
      readonly status: Promise<{ code: number; signal: string | null }>;
    };
  }
}
