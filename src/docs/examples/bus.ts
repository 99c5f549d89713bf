import type { ExtensionAPI } from "xdev";

/** Extensions talk to each other over one bus. What crosses it is a copy: data, and no functions. */
export default function (pi: ExtensionAPI) {
  let heard = 0;
  const end = pi.events.on("example:rain", (data: { litres: number }) => {
    heard += data.litres;
  });

  pi.registerCommand("rain", {
    description: "tells all extensions that it rains",
    handler: async (args) => {
      pi.events.emit("example:rain", { litres: Number(args) });
    },
  });
  pi.registerCommand("heard", { description: "how much rain was heard of", handler: async () => `${heard} litres` });
  pi.on("session_shutdown", () => end());
}
