/** Rpc mode among the others: what a run has to say besides the session's events, as records. */
import type { Mode } from "../mode.ts";
import { standardOutput } from "./connection.ts";
import { openRpc, type Rpc } from "./rpc.ts";

/** Listens on standard input from now on. The session's events are written by `serve`, so `event` writes none. */
export function createRpcMode(interrupt: AbortSignal): Mode & { rpc: Rpc } {
  const rpc = openRpc({ input: process.stdin, output: standardOutput, interrupt });
  return {
    rpc,
    begin() {},
    event() {},
    notice: (text) => rpc.send({ type: "notice", text }),
    say: (text) => rpc.send({ type: "command_output", text }),
    finish: () => true,
  };
}
