import { spawn } from "node:child_process";
import type { ProgramEnd, StartProgram } from "./program.ts";

/** Programs by `node:child_process`, for runtimes without a better way. */
export const startProgram: StartProgram = (file, args, { cwd, env }) => {
  const child = spawn(file, args, {
    cwd,
    env,
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
    write: (text) => {
      if (child.stdin.writable) child.stdin.write(text);
    },
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
