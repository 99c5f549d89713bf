/** `bash` over `child_process`, so with the extension's permission `run`, or over `operations` of its own. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import type { BuiltinTool } from "../../../../../src/agent/tools/context.ts";
import { BASH, BASH_SECONDS } from "../../../../../src/agent/tools/specs.ts";
import { TailOutput } from "../../../../../src/agent/tools/tail-output.ts";
import { throttle } from "../../../../../src/agent/tools/throttle.ts";
import {
  defineTool,
  type ToolResult,
  type ToolRun,
  textResult,
} from "../../../../../src/agent/tools/tool.ts";
import { getShellConfig } from "../config.ts";
import { contextOf } from "./definition.ts";

type Env = Record<string, string | undefined>;

export interface BashOperations {
  /** `timeout` in seconds. It throws `aborted` or `timeout:SECONDS` where it was ended; a null exit code is a failure. */
  exec(
    command: string,
    cwd: string,
    options: { onData(data: Uint8Array): void; signal?: AbortSignal; timeout?: number; env?: Env },
  ): Promise<{ exitCode: number | null }>;
}
export interface BashSpawnContext {
  command: string;
  cwd: string;
  env: Env;
}
export interface BashToolOptions {
  operations?: BashOperations;
  /** Lines that are run before each command, in the same shell. */
  commandPrefix?: string;
  shellPath?: string;
  /** Changes what is run, where, and with which environment. */
  spawnHook?: (context: BashSpawnContext) => BashSpawnContext;
}

interface BashParams {
  command: string;
  timeout?: number;
}

const UPDATE_MS = 100;

/** Runs programs with the extension's permission `run` for the shell; each ends with the extension at the latest. */
export function createLocalBashOperations(options: { shellPath?: string } = {}): BashOperations {
  return {
    exec: (command, cwd, { onData, signal, timeout, env }) =>
      new Promise((resolve, reject) => {
        const { shell, args } = getShellConfig(options.shellPath);
        if (signal?.aborted) return reject(new Error("aborted"));
        const child = spawn(shell, [...args, command], {
          cwd,
          env: env ?? process.env,
          stdio: ["ignore", "pipe", "pipe"],
        });
        let ended: string | undefined;
        const end = (why: string) => {
          ended ??= why;
          child.kill("SIGKILL");
        };
        const onAbort = () => end("aborted");
        const timer = timeout ? setTimeout(() => end(`timeout:${timeout}`), timeout * 1000) : undefined;
        signal?.addEventListener("abort", onAbort, { once: true });
        child.stdout?.on("data", onData);
        child.stderr?.on("data", onData);
        const settle = (run: () => void) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          run();
        };
        child.on("error", (error: Error) => settle(() => reject(error)));
        child.on("close", (code: number | null, name: string | null) =>
          settle(() => {
            if (ended !== undefined) return reject(new Error(ended));
            const number = name === null ? undefined : constants.signals[name as NodeJS.Signals];
            resolve({ exitCode: code ?? (number === undefined ? null : 128 + number) });
          }),
        );
      }),
  };
}

/** Runs a shell's commands for a model. */
export function createBashTool(cwd: string, options: BashToolOptions = {}): BuiltinTool {
  const operations = options.operations ?? createLocalBashOperations(options);
  const context = contextOf(cwd);
  const run = async (params: BashParams, call: ToolRun): Promise<ToolResult> => {
    const command = options.commandPrefix ? `${options.commandPrefix}\n${params.command}` : params.command;
    const plain: BashSpawnContext = { command, cwd, env: { ...process.env } };
    const spawned = options.spawnHook?.(plain) ?? plain;
    const output = new TailOutput(context.scratch);
    const progress = throttle(UPDATE_MS, () => call.update(output.view().text, output.view().details));
    let exitCode: number | null = null;
    let failure: string | undefined;
    try {
      ({ exitCode } = await operations.exec(spawned.command, spawned.cwd, {
        onData(data) {
          void output.add(data, "stdout");
          progress.run();
        },
        env: spawned.env,
        ...(call.signal ? { signal: call.signal } : {}),
        timeout: params.timeout && params.timeout > 0 ? params.timeout : BASH_SECONDS,
      }));
      if (exitCode !== 0) failure = exitCode === null ? "the command failed" : `exit status ${exitCode}`;
    } catch (error) {
      failure = reasonOf(error, call.signal);
      if (failure === undefined) throw error;
    } finally {
      progress.stop();
      await output.end();
    }
    const view = output.view();
    const notes = [view.note, failure].filter((note) => note !== undefined);
    const body = view.text === "" && failure === undefined ? "(no output)" : view.text;
    const text = notes.length === 0 ? body : `${body === "" ? "" : `${body}\n\n`}[${notes.join("]\n[")}]`;
    const truncation = view.details.truncated ? { truncation: { truncated: true, content: view.text } } : {};
    const result = textResult(text, { ...view.details, ...truncation, exitCode });
    return failure === undefined ? result : { ...result, isError: true };
  };
  return defineTool<BashParams>({ ...BASH, run });
}

function reasonOf(error: unknown, signal: AbortSignal | undefined): string | undefined {
  const message = error instanceof Error ? error.message : String(error);
  if (message === "aborted" || signal?.aborted) return "aborted";
  const seconds = /^timeout:(.*)$/.exec(message)?.[1];
  return seconds === undefined ? undefined : `timed out after ${seconds} s; the command was killed`;
}
