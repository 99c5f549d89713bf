/** A prompt that is an extension's command: the model is not asked (wire-notes.md, event `command`). */
import { XdevError } from "../base/errors.ts";
import { parsePatch } from "../extensions/frame.ts";
import type { ExtensionCommand, ExtensionManager } from "../extensions/manager.ts";
import type { Mode } from "../modes/mode.ts";
import { EXIT } from "./process-guard.ts";

/** The command that a prompt names with its first word, and the raw text behind it. */
export function commandOf(text: string, manager: ExtensionManager) {
  if (!text.startsWith("/")) return undefined;
  const [word = ""] = text.split(/\s/, 1);
  const found = manager.findCommand(word);
  if (!found && word.startsWith("/ext:")) {
    const known = manager.commands().map((command) => command.word);
    throw new XdevError("usage", `there is no command ${word}`, {
      hint: known.length > 0 ? `there are: ${known.join(", ")}` : "no extension has a command",
    });
  }
  return found ? { found, args: text.slice(word.length).replace(/^\s/, "") } : undefined;
}

/** Runs it and gives the exit status. Throws `XdevError` when the extension fails. */
export async function runCommand(
  { extension, command }: ExtensionCommand,
  args: string,
  manager: ExtensionManager,
  cwd: string,
  mode: Mode,
  interrupt: AbortSignal,
): Promise<number> {
  manager.emit("session_start", { cwd, sessionId: crypto.randomUUID(), model: null });
  const reply = await extension.request(
    "command",
    { command, arguments: args },
    { timeoutMs: extension.limits.toolTimeoutMs, signal: interrupt },
  );
  if (reply.error != null)
    throw new XdevError("extension-error", `extension ${extension.name}: ${reply.error}`);
  const patch = parsePatch(reply.patch);
  if (patch && "problem" in patch)
    throw new XdevError("extension-error", `extension ${extension.name}: ${patch.problem}`);
  if (patch?.text) mode.say(patch.text);
  return EXIT.done;
}
