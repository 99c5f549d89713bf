/** Rpc mode among the others: what a run has to say besides the session's events, as records. */
import type { Client, Mode } from "../mode.ts";
import { standardOutput } from "../records.ts";
import { openRpc, type RpcOptions } from "./rpc.ts";

/**
 * Listens to the client from now on, by default on standard input. The session's events are written by `serve`, so `event`
 * writes none.
 */
export function createRpcMode(
  interrupt: AbortSignal,
  streams: Pick<RpcOptions, "input" | "output"> = { input: process.stdin, output: standardOutput },
): Mode & { client: Client } {
  const { ui, send, serve } = openRpc({ ...streams, interrupt });
  return {
    begin() {},
    event() {},
    notice: (text) => send({ type: "notice", text }),
    say: (text) => send({ type: "command_output", text }),
    finish: () => true,
    client: {
      ui: {
        notify: (extension, message, level) => ui.notify(extension, message, level),
        setStatus: (extension, key, text) => ui.setStatus(extension, key, text),
        setWidget: (extension, key, lines, placement) => ui.setWidget(extension, key, lines, placement),
        setTitle: (extension, title) => ui.setTitle(extension, title),
        setEditorText: (extension, text) => ui.setEditorText(extension, text),
        dialogs: ui,
      },
      hasUI: () => true,
      async user() {
        const { dialogUser } = await import("../../../sandbox/permissions/prompt.ts");
        return dialogUser(ui.lineDialog());
      },
      serve,
    },
  };
}
