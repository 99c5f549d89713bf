/**
 * The message that the model is writing, put together from its parts: the host sends each part once, and never the message so
 * far, which would cost the square of its length (`message_update` has both members all the same).
 */
type Block = Record<string, unknown>;

export class StreamedMessage {
  #message: Record<string, unknown> = {};
  #blocks: Block[] = [];

  /** A message begins; what is in it already comes again in its parts. */
  start(message: unknown): void {
    this.#blocks = [];
    this.#message = { ...(message as object), content: this.#blocks };
  }

  /** The message with one more part. */
  add(part: unknown): Record<string, unknown> {
    const { type, contentIndex, delta, content, toolCall, id, toolName } = (part ?? {}) as Block;
    const index = typeof contentIndex === "number" ? contentIndex : 0;
    const block = this.#blocks[index];
    switch (type) {
      case "text_start":
        this.#blocks[index] = { type: "text", text: "" };
        break;
      case "thinking_start":
        this.#blocks[index] = { type: "thinking", thinking: "" };
        break;
      case "toolcall_start":
        this.#blocks[index] = { type: "toolCall", id, name: toolName, arguments: {} };
        break;
      case "text_delta":
        if (block) block.text = String(block.text ?? "") + String(delta);
        break;
      case "thinking_delta":
        if (block) block.thinking = String(block.thinking ?? "") + String(delta);
        break;
      case "text_end":
        if (block) block.text = content;
        break;
      case "thinking_end":
        if (block) block.thinking = content;
        break;
      case "toolcall_end":
        if (toolCall) this.#blocks[index] = toolCall as Block;
        break;
    }
    return this.#message;
  }
}
