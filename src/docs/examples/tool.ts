import type { ExtensionAPI } from "xdev";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "countdown",
    label: "Countdown",
    description: "Counts down to zero, a step each 10 ms",
    // The arguments fit before `execute` runs; what does not fit is told to the model.
    parameters: Type.Object({
      from: Type.Integer({ minimum: 1, maximum: 100, description: "where to begin" }),
    }),
    async execute(_toolCallId, { from }, signal, onUpdate) {
      // What is thrown is the tool's error.
      if (from === 13) throw new Error("13 is not for us");
      for (let left = from; left > 0; left--) {
        // The user may have interrupted.
        if (signal?.aborted) return { content: [{ type: "text", text: `stopped at ${left}` }], details: { left } };
        onUpdate?.({ content: [{ type: "text", text: `${left} …` }], details: { left } });
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      // The model reads the content; the details stay with the session, for renderers and for state.
      return { content: [{ type: "text", text: "lift-off" }], details: { left: 0 } };
    },
  });
}
