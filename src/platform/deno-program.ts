import type { OutputListener, StartProgram } from "./program.ts";

/**
 * Programs by Deno's own interface. It is for those that are Deno itself: `node:child_process` takes such arguments for Node's, and
 * adds `-A` to them.
 */
export const startProgram: StartProgram = (file, args, { cwd, env }) => {
  const child = new Deno.Command(file, {
    args: [...args],
    cwd,
    env,
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  }).spawn();
  const input = child.stdin.getWriter();
  input.closed.catch(() => {});
  const readers: ReadableStreamDefaultReader<Uint8Array>[] = [];
  const drained = Promise.withResolvers<void>();

  const pump = async (name: "stdout" | "stderr", listener: OutputListener): Promise<void> => {
    const reader = child[name].getReader();
    readers.push(reader);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const wait = listener(Buffer.from(value.buffer, value.byteOffset, value.byteLength), name);
      if (wait) await wait;
    }
  };

  return {
    pid: child.pid,
    write: (data) =>
      input.write(typeof data === "string" ? new TextEncoder().encode(data) : data).then(
        () => true,
        () => false,
      ),
    endInput: () => void input.close().catch(() => {}),
    read(listener) {
      const both = [pump("stdout", listener), pump("stderr", listener)];
      void Promise.allSettled(both).then(() => drained.resolve());
    },
    release() {
      for (const reader of readers) void reader.cancel().catch(() => {});
    },
    exited: child.status.then(({ code, signal }) => ({
      code: signal === null ? code : null,
      signal: signal as NodeJS.Signals | null,
    })),
    drained: drained.promise,
  };
};
