/** Stream rules: files of `rules/` with a regular expression (`ttsr`) that ends the model's turn when its stream matches. */
import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import type { ResourceDiagnostic, ResourceOrigin, ResourcePlaces } from "./resources.ts";

export interface StreamRule {
  /** The file's name without `.md`. */
  name: string;
  description?: string;
  /** What the model is told. */
  text: string;
  /** The regular expressions as they were written. */
  patterns: readonly string[];
  filePath: string;
  origin: ResourceOrigin;
}

/** All rules of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadStreamRules(
  _places: ResourcePlaces,
): Promise<{ rules: StreamRule[]; diagnostics: ResourceDiagnostic[] }> {
  throw new Error("not yet");
}

/** Watches the model's stream. One for a session. */
export class RuleWatch {
  /** @param triggered names of rules that were injected before, in a session that goes on */
  constructor(_rules: readonly StreamRule[], _triggered?: Iterable<string>) {}

  /** False if there is nothing to watch for: then nobody needs to call `feed`. */
  get isActive(): boolean {
    return false;
  }

  /** A new message of the model begins. */
  startMessage(): void {}

  /**
   * Looks at one event of the message. Gives the rules that match with it, each once in a session: who gets them
   * aborts the turn, appends `ruleMessage(rules)` and lets the model try again. Its cost does not grow with the message.
   */
  feed(_event: AssistantMessageEvent): StreamRule[] {
    return [];
  }

  /** Names of the rules that have matched, to be kept with the session. */
  get triggered(): string[] {
    return [];
  }
}

/** What the model is told in place of the turn that was cut. */
export function ruleMessage(_rules: readonly StreamRule[]): string {
  throw new Error("not yet");
}
