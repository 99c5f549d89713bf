/** What waits to be said to the model: `steer` for the next request of a run, `followUp` for when it would end. */
import type { AgentMessage, QueueMode } from "@earendil-works/pi-agent-core";
import { messageText } from "../messages.ts";

export class Queue {
  /** How many are taken at once. */
  mode: QueueMode;
  readonly #onChange: () => void;
  #waiting: AgentMessage[] = [];

  constructor(mode: QueueMode, onChange: () => void) {
    this.mode = mode;
    this.#onChange = onChange;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** The texts, oldest first. */
  get texts(): string[] {
    return this.#waiting.map(messageText);
  }

  add(message: AgentMessage): void {
    this.#waiting.push(message);
    this.#onChange();
  }

  /** All of them, or the oldest. */
  take(): AgentMessage[] {
    if (this.#waiting.length === 0) return [];
    const taken = this.#waiting.splice(0, this.mode === "all" ? this.#waiting.length : 1);
    this.#onChange();
    return taken;
  }

  clear(): string[] {
    const { texts } = this;
    if (texts.length === 0) return texts;
    this.#waiting = [];
    this.#onChange();
    return texts;
  }
}
