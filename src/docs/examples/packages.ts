import { DEFAULT_MAX_BYTES, type ExtensionAPI, formatSize, isToolCallEventType, truncateHead } from "@earendil-works/pi-coding-agent";
import { StringEnum } from "@earendil-works/pi-ai";
import { visibleWidth } from "@earendil-works/pi-tui";
import { Type } from "typebox";

/** The packages of the agent and its family are there under all their names, without being installed. */
export default function (pi: ExtensionAPI) {
  pi.on("tool_call", (event) => {
    // In the types, too, this is a call of bash from here on.
    if (isToolCallEventType("bash", event) && event.input.command.includes("sudo")) {
      return { block: true, reason: "no sudo" };
    }
  });

  pi.registerTool({
    name: "measure",
    label: "Measure",
    description: "Measures a text",
    parameters: Type.Object({ text: Type.String(), unit: StringEnum(["columns", "bytes"]) }),
    async execute(_toolCallId, { text, unit }) {
      const { content, truncated } = truncateHead(text, { maxBytes: DEFAULT_MAX_BYTES });
      const size = unit === "columns" ? `${visibleWidth(content)} columns` : formatSize(content.length);
      return { content: [{ type: "text", text: truncated ? `at least ${size}` : size }], details: {} };
    },
  });
}
