import type { OutputListener, Program, ProgramEnd, StartProgram } from "./program.ts";

/** Bun's own spawn: `node:child_process` alone takes 4 ms of a start. */
export const startProgram: StartProgram = (file, args, { cwd, env, argv0, discard = [] }) => {
  const use = (name: "stdout" | "stderr") => (discard.includes(name) ? "ignore" : "pipe");
  let child: Bun.Subprocess<"pipe", "pipe" | "ignore", "pipe" | "ignore">;
  try {
    child = Bun.spawn({
      cmd: [file, ...args],
      cwd,
      env,
      ...(argv0 === undefined ? {} : { argv0 }),
      stdin: "pipe",
      stdout: use("stdout"),
      stderr: use("stderr"),
      detached: true,
      windowsHide: true,
    });
  } catch (error) {
    return notStarted(error);
  }
  const readers = new Map<string, ReadableStreamDefaultReader<Uint8Array>>();
  const drained = Promise.withResolvers<void>();

  const pump = async (name: "stdout" | "stderr", listener: OutputListener): Promise<void> => {
    const reader = child[name]?.getReader();
    if (!reader) return;
    readers.set(name, reader);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const wait = listener(Buffer.from(value.buffer, value.byteOffset, value.byteLength), name);
      if (wait) await wait;
    }
  };
  // False: its input is closed.
  const taken = async (write: () => unknown): Promise<boolean> => {
    try {
      await write();
      return true;
    } catch {
      return false;
    }
  };

  return {
    pid: child.pid,
    write: (data) =>
      // Each has a failure of its own: what is long is written by `write` itself, what is short by `flush`.
      taken(() => Promise.all([child.stdin.write(data), child.stdin.flush()])),
    endInput: () => void taken(() => child.stdin.end()),
    read(listener) {
      const both = [pump("stdout", listener), pump("stderr", listener)];
      void Promise.allSettled(both).then(() => drained.resolve());
    },
    release(output) {
      for (const [name, reader] of readers) {
        if (name === (output ?? name)) void reader.cancel().catch(() => {});
      }
    },
    exited: child.exited.then(
      (): ProgramEnd => ({
        code: child.signalCode === null ? child.exitCode : null,
        signal: child.signalCode as NodeJS.Signals | null,
      }),
    ),
    drained: drained.promise,
  };
};

function notStarted(error: unknown): Program {
  const exited = Promise.reject(error);
  // Whoever waits for it is told; nobody has to.
  exited.catch(() => {});
  return {
    pid: undefined,
    write: async () => false,
    endInput() {},
    read() {},
    release() {},
    exited,
    drained: Promise.resolve(),
  };
}
