import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

/** A tool that keeps notes in the working folder, and a command that asks before it forgets them. */
export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "note",
    label: "Note",
    description: "Writes a note into NOTES.md",
    parameters: Type.Object({ text: Type.String() }),
    async execute(_toolCallId, { text }, _signal, _onUpdate, ctx) {
      appendFileSync(join(ctx.cwd, "NOTES.md"), `- ${text}\n`);
      return { content: [{ type: "text", text: "noted" }], details: { text } };
    },
  });

  pi.registerCommand("notes", {
    description: "shows the notes, and gives them to the model if the user likes",
    handler: async (_args, ctx) => {
      const notes = readFileSync(join(ctx.cwd, "NOTES.md"), "utf8");
      if (await ctx.ui.confirm("Tell the model?", notes)) pi.sendUserMessage(`My notes:\n${notes}`);
      else ctx.ui.notify("kept to ourselves", "info");
    },
  });
}
