/** What an extension has registered, as the host gets it: when it has loaded, and again when it registers more. */

import { frameText } from "./portable.ts";
import type { Registry } from "./registry.ts";
import type { Transmitter } from "./transmit.ts";
import { describeError } from "./transmit.ts";

/** Taken once: an extension may replace the globals. */
const { queueMicrotask: afterThis, setTimeout: startTimer } = globalThis;
const { now } = Date;

/** The host ends an extension that registers anew much more often. */
const MAX_PER_SECOND = 10;

/** What `session_…` events a tool's `onSession` is called for, and the reason that it is given. */
export const TOOL_SESSION_REASONS: ReadonlyMap<string, string> = new Map([
  ["session_start", "start"],
  ["session_switch", "switch"],
  ["session_branch", "branch"],
  ["session_tree", "tree"],
  ["session_shutdown", "shutdown"],
]);

/** `isBusy`: it does something of its own, and must run although nobody calls it (src/extensions/sleep.ts). */
export function capabilities(registry: Registry, isBusy = false): Record<string, unknown> {
  const tools = [...registry.tools.values()];
  const events = new Set(registry.handlers.keys());
  if (tools.some(({ onSession }) => typeof onSession === "function")) {
    for (const event of TOOL_SESSION_REASONS.keys()) events.add(event);
  }
  return {
    label: registry.label,
    tools: tools.map(toolSpec),
    commands: [...registry.commands].map(([name, { description, getArgumentCompletions }]) => ({
      name,
      description,
      ...(typeof getArgumentCompletions === "function" ? { completes: true } : {}),
    })),
    events: [...events],
    ...(registry.handlers.get("tool_call")?.length === 0 ? { passive: true } : {}),
    channels: registry.bus.channels(),
    flags: [...registry.flags].map(([name, flag]) => ({ name, ...flag })),
    shortcuts: [...registry.shortcuts].map(([name, { description }]) => ({ name, description })),
    messageRenderers: [...registry.messageRenderers.keys()],
    entryRenderers: [...registry.entryRenderers.keys()],
    ...(registry.toolRenderers.length > 0 ? { drawsTools: true } : {}),
    ...(registry.markdownTransformers.length > 0 ? { transformsMarkdown: true } : {}),
    providers: [...registry.providers.keys()],
    features: ["call", "cancel", "update", "result", "concurrent", "register", ...(isBusy ? ["busy"] : [])],
  };
}

/** A tool without its functions. Throws for one that can't be told. */
export function toolSpec(
  tool: Registry["tools"] extends Map<string, infer T> ? T : never,
): Record<string, unknown> {
  const { name, label, description, parameters, hidden, defaultInactive, promptSnippet, promptGuidelines } =
    tool;
  const spec = {
    name,
    label,
    description,
    parameters,
    hidden: hidden === true || tool.exposure === "hidden" ? true : undefined,
    defaultInactive:
      defaultInactive === true || tool.defaultActive === false || isNotDeclared(tool.exposure)
        ? true
        : undefined,
    promptSnippet,
    promptGuidelines,
    executionMode: tool.executionMode,
    prepares: typeof tool.prepareArguments === "function" ? true : undefined,
    drawsCall: typeof tool.renderCall === "function" ? true : undefined,
    drawsResult: typeof tool.renderResult === "function" ? true : undefined,
  };
  frameText(spec);
  return spec;
}

function isNotDeclared(exposure: unknown): boolean {
  return exposure === "codemode" || exposure === "deferred" || exposure === "hidden";
}

/** Tells the host of what is registered after the extension has loaded, before it hears anything else. */
export class Registrations {
  readonly #registry: Registry;
  readonly #transmitter: Transmitter;
  #isChanged = false;
  #isPlanned = false;
  /** When it was told, in ms. */
  #told: number[] = [];

  constructor(registry: Registry, transmitter: Transmitter) {
    this.#registry = registry;
    this.#transmitter = transmitter;
    transmitter.beforeSend = () => this.flush();
  }

  changed(): void {
    if (this.#registry.loading) return;
    this.#isChanged = true;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    afterThis(() => {
      this.#isPlanned = false;
      this.flush();
    });
  }

  flush(): void {
    if (!this.#isChanged) return;
    const time = now();
    this.#told = this.#told.filter((one) => time - one < 1000);
    if (this.#told.length >= MAX_PER_SECOND) {
      if (this.#isPlanned) return;
      this.#isPlanned = true;
      startTimer(() => {
        this.#isPlanned = false;
        this.flush();
      }, 200);
      return;
    }
    this.#isChanged = false;
    this.#told.push(time);
    try {
      this.#transmitter.send({ type: "register", payload: capabilities(this.#registry) });
    } catch (error) {
      this.#transmitter.log("error", `what it registered can't be told to xdev: ${describeError(error)}`);
    }
  }
}
