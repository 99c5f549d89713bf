// The policy and the tool of policy.py, as a sandboxed module. The import is for an editor: types are removed before it runs.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
  pi.on("tool_call", async (event) => {
    if (event.toolName === "bash" && String(event.input.command).includes("rm -rf")) {
      return { block: true, reason: "rm -rf is not allowed here" };
    }
  });

  pi.registerTool({
    name: "utc_time",
    label: "UTC time",
    description: "The time now, in UTC",
    parameters: { type: "object", properties: {} },
    async execute() {
      const text = `${new Date().toISOString().slice(0, 19)}Z`;
      return { content: [{ type: "text", text }], details: undefined };
    },
  });
}
