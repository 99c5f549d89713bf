/** Stream rules at work (stream-rules.ts): the turn is cut where one matches, the model is told the rule, and tries again. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import { log } from "../../base/log.ts";
import type { StreamRule } from "../stream-rules.ts";
import type { Core } from "./core.ts";
import type { Attempt } from "./run.ts";

export interface Cut {
  rules: StreamRule[];
}

/** The entry by which a session that goes on knows what was told before. */
const TOLD = "ttsr";

/** Watches the answers of an attempt, if there are rules. */
export async function watchRules(core: Core, attempt: Attempt): Promise<void> {
  const { resources } = core;
  if (!resources || resources.rules.length === 0) return;
  resources.watch ??= await newWatch(core, resources.rules);
  const { watch } = resources;
  if (!watch.isActive) return;
  attempt.onStart = () => watch.startMessage();
  attempt.onUpdate = (event) => {
    if (attempt.cut) return;
    const rules = watch.feed(event);
    if (rules.length === 0) return;
    attempt.cut = { rules };
    attempt.abort.abort();
  };
}

async function newWatch(core: Core, rules: StreamRule[]) {
  const { RuleWatch } = await import("../stream-rules.ts");
  return new RuleWatch(rules, toldBefore(core), core.options.cwd);
}

function toldBefore(core: Core): string[] {
  return core.store.getBranchIds().flatMap((id) => {
    if (core.store.typeOf(id)?.type !== "custom") return [];
    const entry = core.store.getEntry(id);
    if (entry?.type !== "custom" || entry.customType !== TOLD) return [];
    const { rules } = (entry.data ?? {}) as { rules?: unknown };
    return Array.isArray(rules) ? rules.filter((name) => typeof name === "string") : [];
  });
}

/** The cut turn leaves the context; gives what the model is told in its place. */
export async function cutByRules(core: Core, attempt: Attempt): Promise<AgentMessage[]> {
  const rules = attempt.cut?.rules ?? [];
  const { ruleData, ruleMessage } = await import("../stream-rules.ts");
  // With the results of its calls, if it had come to its end before it was cut.
  const first = attempt.kept.findIndex(({ message }) => message === attempt.answer?.message);
  if (first !== -1) for (const kept of attempt.kept.slice(first)) core.omit(kept);
  log.debug(`rules that matched: ${rules.map(({ name }) => name).join(", ")}`);
  core.keep({ type: "custom", customType: TOLD, data: { rules: rules.map(({ name }) => name) } });
  const told = rules.map(ruleData);
  core.publish({ type: "ttsr_triggered", rules: told });
  core.tellHooks("ttsr_triggered", { rules: told });
  return [
    {
      role: "custom",
      customType: "ttsr",
      content: ruleMessage(rules),
      display: true,
      timestamp: Date.now(),
    },
  ];
}
