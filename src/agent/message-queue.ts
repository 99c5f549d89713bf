/** Texts that extensions queue for the running turn (extension-protocol.md §6), also before there is an agent. */
import type { Agent } from "@earendil-works/pi-agent-core";
import { log } from "../base/log.ts";

type Target = Pick<Agent, "steer" | "followUp">;

export interface MessageQueue {
  /** From here on texts reach the agent; those that came before do now. */
  connect(agent: Target): void;
  /** What an `action` frame asks for. */
  action(extension: string, action: string, text: string): void;
}

/** How many texts are kept before there is an agent. */
const EARLY_LIMIT = 100;

export function createMessageQueue(): MessageQueue {
  let agent: Target | undefined;
  const early: ((target: Target) => void)[] = [];
  return {
    connect(target) {
      agent = target;
      for (const deliver of early.splice(0)) deliver(target);
    },
    action(extension, action, text) {
      const message = { role: "user" as const, content: text, timestamp: Date.now() };
      const deliver = (target: Target): void => {
        if (action === "followUp") target.followUp(message);
        else target.steer(message);
      };
      // `aside` is routed as `steer` (§6).
      if (action !== "steer" && action !== "followUp" && action !== "aside") {
        log.warn(`extension ${extension} asks for ${action.slice(0, 40)}, which this version does not do`);
      } else if (text.trim() === "") {
        log.debug(`extension ${extension} asks for ${action} without a text`);
      } else if (agent) {
        deliver(agent);
      } else if (early.length < EARLY_LIMIT) {
        early.push(deliver);
      }
    },
  };
}
