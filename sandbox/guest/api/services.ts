/** What the host asks of an extension besides the events of a session: what to draw, to complete, to run, and what others emitted. */
import type { BusEvent } from "./bus.ts";
import type { Registry } from "./registry.ts";
import type { RenderRequest } from "./render.ts";
import type { Session } from "./session.ts";
import type { Theme, ThemeTable } from "./theme.ts";

/** The exports of one of our own texts, evaluated when it is first asked for. */
export type ImportOwn = (name: string) => Record<string, unknown>;

/** The theme that is drawn with; the host is asked for it when it says that it has another. */
let theme: Theme | undefined;
let themeName: string | undefined;

export function currentTheme(importOwn: ImportOwn, session: Session, name?: string): Theme {
  if (!theme || (name !== undefined && name !== themeName)) {
    const table = session.askNow("ui.theme") as ThemeTable | null;
    theme = (importOwn("internal/theme").themeOf as (table: ThemeTable | null) => Theme)(table);
    themeName = name ?? theme.name;
  }
  return theme;
}

/** Answers one such event. Throws what the extension throws. */
export async function serve(
  registry: Registry,
  session: Session,
  { event, payload }: { event: string; payload: Record<string, unknown> },
  importOwn: ImportOwn,
  createContext: () => unknown,
): Promise<unknown> {
  switch (event) {
    case "bus":
      return { told: registry.bus.deliver(payload.events as BusEvent[]) };
    case "shortcut": {
      const found = registry.shortcuts.get(String(payload.key));
      if (!found) throw new Error(`has no shortcut ${String(payload.key)}`);
      await found.handler(createContext());
      return undefined;
    }
    case "completions": {
      const found = registry.commands.get(String(payload.command));
      return completions(await found?.getArgumentCompletions?.(String(payload.prefix ?? "")));
    }
    default: {
      const render = importOwn("internal/render").render as typeof import("./render.ts").render;
      const name = typeof payload.theme === "string" ? payload.theme : undefined;
      return render(registry, payload as unknown as RenderRequest, currentTheme(importOwn, session, name));
    }
  }
}

/** So many are worth offering. */
const MAX_COMPLETIONS = 200;

function completions(given: unknown): unknown {
  if (!Array.isArray(given)) return null;
  return given.slice(0, MAX_COMPLETIONS).map((item: unknown) => {
    if (typeof item !== "object" || item === null) return { value: String(item), label: String(item) };
    const { value, label, description } = item as Record<string, unknown>;
    const text = String(value ?? label ?? "");
    return {
      value: text,
      label: String(label ?? text),
      ...(description === undefined || description === null ? {} : { description: String(description) }),
    };
  });
}
