import type { ExtensionAPI, ExtensionContext } from "xdev";
import { Type } from "typebox";

/** Entries of this type hold the state: the session keeps them, the model never sees them. */
const STATE = "my-extension";

export default function (pi: ExtensionAPI) {
  let denied = 0;

  // The state is what the last entry on the branch says, also after a switch to another session or branch.
  const restore = (_event: unknown, ctx: ExtensionContext) => {
    denied = 0;
    for (const entry of ctx.sessionManager.getBranch()) {
      if (entry.type === "custom" && entry.customType === STATE) denied = (entry.data as { denied: number }).denied;
    }
  };
  pi.on("session_start", restore);
  pi.on("session_switch", restore);
  pi.on("session_branch", restore);
  pi.on("session_tree", restore);

  // A policy: it is asked before each tool call. What it throws denies the call.
  pi.on("tool_call", (event) => {
    if (event.toolName !== "bash" || !String(event.input.command).includes("rm -rf")) return;
    denied += 1;
    pi.appendEntry(STATE, { denied });
    return { block: true, reason: "rm -rf is not allowed here" };
  });

  // A tool: the model may call it.
  pi.registerTool({
    name: "count_words",
    label: "Count words",
    description: "Counts the words of a text",
    parameters: Type.Object({ text: Type.String({ description: "the text" }) }),
    async execute(_toolCallId, params) {
      const words = params.text.split(/\s+/).filter((word) => word !== "").length;
      return { content: [{ type: "text", text: `${words} words` }], details: { words } };
    },
  });

  // A command: the user writes /my-extension.
  pi.registerCommand("my-extension", {
    description: "says how many calls were denied",
    handler: async (_args, ctx) => {
      ctx.ui.notify(`${denied} denied`, "info");
    },
  });
}
