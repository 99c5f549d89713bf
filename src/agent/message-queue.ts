/**
 * What extensions queue for a run (extension-protocol.md §6, wire-notes.md), also before there is an agent: `steer` for the
 * next step, `followUp` for a run after this one, `aside` as a note beside the next request.
 */
import type { Agent } from "@earendil-works/pi-agent-core";
import { log } from "../base/log.ts";
import type { AsideMessage } from "./messages.ts";

type Target = Pick<Agent, "steer" | "followUp">;

export interface MessageQueue {
  /** From here on texts reach the agent; those that came before do now. */
  connect(agent: Target): void;
  /** Queues a text; `action` is `steer`, `followUp` or `aside`. */
  add(extension: string, action: QueueAction, text: string): void;
  /** The user has said something: what each extension may queue counts anew. */
  startRun(): void;
  /** The notes that have not been told yet; they are taken. */
  takeAsides(): AsideMessage[];
}

export const QUEUE_ACTIONS = ["steer", "followUp", "aside"] as const;
export type QueueAction = (typeof QUEUE_ACTIONS)[number];

/** How many texts one extension may queue in a run: a flood must not keep it going for good. */
const LIMIT = 100;

export function createMessageQueue(): MessageQueue {
  let agent: Target | undefined;
  let asides: AsideMessage[] = [];
  const early: ((target: Target) => void)[] = [];
  const counts = new Map<string, number>();

  return {
    connect(target) {
      agent = target;
      for (const deliver of early.splice(0)) deliver(target);
    },
    add(extension, action, text) {
      if (text.trim() === "") return log.debug(`extension ${extension} asks for ${action} without a text`);
      const count = (counts.get(extension) ?? 0) + 1;
      counts.set(extension, count);
      if (count > LIMIT) {
        if (count === LIMIT + 1) log.warn(`extension ${extension} queues too much; what follows is dropped`);
        return;
      }
      const timestamp = Date.now();
      if (action === "aside") return void asides.push({ role: "aside", extension, text, timestamp });
      const deliver = (target: Target): void => target[action]({ role: "user", content: text, timestamp });
      if (agent) deliver(agent);
      else early.push(deliver);
    },
    startRun() {
      counts.clear();
    },
    takeAsides() {
      const taken = asides;
      asides = [];
      return taken;
    },
  };
}
