import type { ExtensionAPI } from "xdev";

/** What passes by can be watched, added to and changed. All but the watching takes the permission `session: write`. */
export default function (pi: ExtensionAPI) {
  // What the user writes, before anything else: another text, or handled without the model.
  pi.on("input", (event, ctx) => {
    if (event.text === "ping") {
      ctx.ui.notify("pong");
      return { action: "handled" };
    }
    return { action: "transform", text: event.text.replaceAll("@team", "Ada and Grace") };
  });

  // Before each run of the agent: the system prompt, and a message of its own.
  pi.on("before_agent_start", (event) => ({
    systemPrompt: `${event.systemPrompt}\nAnswer in one sentence.`,
    message: { customType: "clock", content: "It is morning.", display: false },
  }));

  // What the model gets at this request; the session keeps what it has.
  pi.on("context", (event) => ({
    messages: event.messages.filter(({ role }) => role !== "bashExecution"),
  }));

  // What a tool gives the model. The handlers of all extensions follow one another.
  pi.on("tool_result", (event) => {
    if (event.toolName !== "bash") return;
    const content = event.content.map((part) =>
      part.type === "text" ? { ...part, text: part.text.replace(/token=\S+/g, "token=…") } : part,
    );
    return { content };
  });

  pi.on("turn_end", (event, ctx) => ctx.ui.setStatus("turns", `turn ${event.turnIndex + 1}`));
}
