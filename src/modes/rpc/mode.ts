/** Rpc mode among the others: what a run has to say besides the session's events, as records. */
import type { Client, Mode } from "../mode.ts";
import { standardOutput } from "../records.ts";
import { openRpc } from "./rpc.ts";

/** Listens on standard input from now on. The session's events are written by `serve`, so `event` writes none. */
export function createRpcMode(interrupt: AbortSignal): Mode & { client: Client } {
  const { ui, send, serve } = openRpc({ input: process.stdin, output: standardOutput, interrupt });
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
