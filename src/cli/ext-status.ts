/** The prompts `/ext` and `/ext restart NAME`: how the extensions of this session are, and a new start for one. */
import { XdevError } from "../base/errors.ts";
import { formatMs } from "../base/time.ts";
import type { Extension } from "../extensions/extension.ts";
import type { ExtensionManager } from "../extensions/manager.ts";

/**
 * Answers `/ext` and `/ext restart NAME`; undefined for any other prompt. Throws `XdevError` with code `usage` for a name
 * that no extension has.
 */
export async function extensionStatus(
  prompt: string,
  manager: ExtensionManager,
): Promise<string | undefined> {
  const [word, action, name, ...rest] = prompt.trim().split(/\s+/);
  if (word !== "/ext") return undefined;
  if (action === undefined) return statusTable(manager);
  const names = manager.extensions.map((extension) => extension.name).join(", ") || "none";
  if (action !== "restart" || name === undefined || rest.length > 0) {
    throw new XdevError("usage", `${prompt.trim()} is not known`, { hint: "/ext, or /ext restart NAME" });
  }
  const extension = manager.extensions.find((one) => one.name === name);
  if (!extension)
    throw new XdevError("usage", `there is no extension ${name}`, { hint: `there are: ${names}` });
  await extension.restart();
  return extension.state === "ready"
    ? `extension ${name} is ready`
    : `extension ${name} ${extension.reason}; it is ${extension.state}`;
}

/** Its state, for people. */
export function shownState({ isAsleep, state }: Extension): string {
  return isAsleep ? "not started yet" : state;
}

/** State, time since start, calls, denials, round trip at p50 and p99, and last error of each extension. */
export function statusTable(manager: ExtensionManager): string {
  if (manager.extensions.length === 0) return "no extensions are loaded";
  const rows = [HEAD, ...manager.extensions.map(row)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const HEAD = ["name", "level", "state", "for", "calls", "denials", "p50", "p99", "last error"];

function row(extension: Extension): string[] {
  const { calls, denials, p50, p99 } = extension.statistics.figures();
  return [
    extension.name,
    extension.level,
    shownState(extension),
    extension.readySince === undefined ? "-" : formatMs(Date.now() - extension.readySince),
    String(calls),
    String(denials),
    p50 === undefined ? "-" : formatMs(p50),
    p99 === undefined ? "-" : formatMs(p99),
    extension.reason ?? "-",
  ];
}
