import type { ExtensionAPI } from "xdev";

/** Messages to the model: of the extension, or as if the user had written them. They take the permission `session: write`. */
export default function (pi: ExtensionAPI) {
  // Idle: kept at once, and `triggerTurn` begins a run with it. While a run goes on: before its next request.
  pi.registerCommand("hint", {
    description: "tells the model something, and lets it answer",
    handler: async (args) =>
      pi.sendMessage({ customType: "hint", content: args, display: true, details: { by: "hint" } }, { triggerTurn: true }),
  });

  // Joins what the user writes next, and begins nothing.
  pi.registerCommand("later", {
    description: "tells the model something with the next prompt",
    handler: async (args) =>
      pi.sendMessage({ customType: "hint", content: args, display: false }, { deliverAs: "nextTurn" }),
  });

  // A prompt. While a run goes on it waits: `steer` goes before the run's next request, `followUp` behind its end.
  let isAsked = false;
  pi.on("agent_end", () => {
    if (isAsked) return;
    isAsked = true;
    pi.sendUserMessage("Are you sure?", { deliverAs: "followUp" });
  });
}
