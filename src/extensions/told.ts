/** What the user is told of how his extensions are. */
import { oneLine } from "../base/text.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import { didYouMean } from "../config/suggest.ts";
import type { Extension } from "./extension.ts";
import { API_EVENTS, EVENT_NAMES, FAMILY_EVENTS } from "./frame.ts";
import type { LoadFailure } from "./manager-types.ts";

/** Why it is not there; nothing if it is. */
export function failuresOf(extension: Extension): LoadFailure[] {
  if (extension.state !== "failed") return [];
  const { name, path, kind, reason = "failed", end, lastLog } = extension;
  return [
    {
      name,
      path,
      kind,
      reason,
      ...(end?.exitCode === undefined ? {} : { exitCode: end.exitCode }),
      ...(end?.signal === undefined ? {} : { signal: end.signal }),
      log: lastLog,
    },
  ];
}

/** The extensions without which the user wants no tool to run. */
export function requiredNames(settings: ExtensionHostSettings): string[] {
  return Object.entries(settings.overrides).flatMap(([name, own]) => (own.required ? [name] : []));
}

/** A policy that misspells `tool_call` would be none, and nobody would know. */
export function unknownEvents({ name, kind, capabilities }: Extension): string[] {
  const known: readonly string[] = kind === "process" ? EVENT_NAMES : API_EVENTS;
  return (capabilities?.events ?? [])
    .filter((event) => !known.includes(event))
    .map((event) =>
      FAMILY_EVENTS.has(event)
        ? `extension ${name} listens to ${event}, which xdev does not send`
        : `extension ${name} listens to ${oneLine(event)}, which does not exist.${didYouMean(event, known)}`,
    );
}

/** What the user is told besides the reason. */
export function afterDeath(extension: Extension): string {
  if (extension.state === "restarting") return "it is being restarted";
  if (extension.isPolicy && !extension.failOpen && extension.limits.onDeath !== "prune") {
    return "every tool call is denied until it is started anew";
  }
  return "it is off now";
}
