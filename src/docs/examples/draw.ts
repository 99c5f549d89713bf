import type { ExtensionAPI } from "xdev";
import { Box, Text } from "@earendil-works/pi-tui";
import { Type } from "typebox";

/** How a tool's calls, its results and messages of a type look on a terminal. The model and other modes see none of it. */
export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "roll",
    label: "Roll",
    description: "Rolls dice",
    parameters: Type.Object({ dice: Type.Integer({ minimum: 1, maximum: 10 }) }),
    async execute(_toolCallId, { dice }) {
      const eyes = Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6));
      return { content: [{ type: "text", text: eyes.join(" ") }], details: { eyes } };
    },
    renderCall: (args, theme) => new Text(`${theme.bold("roll")} ${theme.fg("muted", `${args.dice} dice`)}`, 0, 0),
    renderResult(result, { expanded, isPartial }, theme) {
      if (isPartial) return new Text("rolling …", 0, 0);
      const eyes: number[] = result.details?.eyes ?? [];
      const sum = eyes.reduce((total, one) => total + one, 0);
      return new Text(theme.fg("success", expanded ? `${eyes.join(" + ")} = ${sum}` : String(sum)), 0, 0);
    },
  });

  pi.registerMessageRenderer("dice", (message, { expanded }, theme) => {
    const box = new Box(1, 0, (text) => theme.bg("customMessageBg", text));
    box.addChild(new Text(expanded ? String(message.content) : "dice", 0, 0));
    return box;
  });

  pi.registerCommand("dice", {
    description: "shows a message of the type that is drawn above",
    handler: async () => pi.sendMessage({ customType: "dice", content: "The dice are cast.", display: true }),
  });
}
