import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { ProgramEnd, StartProgram } from "./program.ts";

const OUTPUTS = ["stdout", "stderr"] as const;

/** Programs by `node:child_process`, for runtimes without a better way. */
export const startProgram: StartProgram = (file, args, { cwd, env, argv0, discard = [] }) => {
  const child = spawn(file, args, {
    cwd,
    env,
    argv0,
    detached: true,
    stdio: ["pipe", ...OUTPUTS.map((name) => (discard.includes(name) ? "ignore" : "pipe"))],
    windowsHide: true,
  });
  const stdin = child.stdin as Writable;
  const outputs = OUTPUTS.flatMap((name) => {
    const stream: Readable | null = child[name];
    return stream ? [{ name, stream }] : [];
  });
  for (const stream of [stdin, ...outputs.map((output) => output.stream)]) stream.on("error", () => {});
  const exited = new Promise<ProgramEnd>((resolve, reject) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", reject);
  });
  exited.catch(() => {});
  return {
    pid: child.pid,
    write: (data) =>
      new Promise((resolve) => {
        if (stdin.writable) stdin.write(data, (error) => resolve(!error));
        else resolve(false);
      }),
    endInput: () => void stdin.end(),
    read(listener) {
      for (const { name, stream } of outputs) {
        stream.on("data", (chunk: Buffer) => {
          const wait = listener(chunk, name);
          if (!wait) return;
          stream.pause();
          void wait.finally(() => stream.resume());
        });
      }
    },
    release(output) {
      for (const { name, stream } of outputs) if (name === (output ?? name)) stream.destroy();
    },
    exited,
    drained: new Promise((resolve) => child.once("close", () => resolve())),
  };
};
