/** A prompt that is an extension's command: the model is not asked (wire-notes.md, event `command`). */
import { XdevError } from "../base/errors.ts";
import type { ExtensionManager } from "../extensions/manager.ts";

/** Whether the first word of a prompt names a command. Throws `XdevError` for one that names a command and there is none. */
export function isExtensionCommand(text: string, manager: ExtensionManager): boolean {
  const [word = ""] = text.split(/\s/, 1);
  if (manager.findCommand(word)) return true;
  if (!word.startsWith("/ext:")) return false;
  const known = manager.commands().map((command) => command.word);
  throw new XdevError("usage", `there is no command ${word}`, {
    hint: known.length > 0 ? `there are: ${known.join(", ")}` : "no extension has a command",
  });
}
