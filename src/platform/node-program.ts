import { spawn } from "node:child_process";
import type { ProgramEnd, StartProgram } from "./program.ts";

/** Programs by `node:child_process`, for runtimes without a better way. */
export const startProgram: StartProgram = (file, args, { cwd, env, argv0 }) => {
  const child = spawn(file, args, {
    cwd,
    env,
    argv0,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    windowsHide: true,
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  const exited = new Promise<ProgramEnd>((resolve, reject) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", reject);
  });
  exited.catch(() => {});
  return {
    pid: child.pid,
    write: (data) =>
      new Promise((resolve) => {
        if (child.stdin.writable) child.stdin.write(data, (error) => resolve(!error));
        else resolve(false);
      }),
    endInput: () => void child.stdin.end(),
    read(listener) {
      for (const name of ["stdout", "stderr"] as const) {
        child[name].on("data", (chunk: Buffer) => {
          const wait = listener(chunk, name);
          if (!wait) return;
          child[name].pause();
          void wait.finally(() => child[name].resume());
        });
      }
    },
    release() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    exited,
    drained: new Promise((resolve) => child.once("close", () => resolve())),
  };
};
