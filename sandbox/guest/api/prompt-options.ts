/** `systemPromptOptions`: what the system prompt is made of, as far as an extension may know it, and the sections that it adds. */
import type { Session } from "./session.ts";

export function promptOptions(session: Session, cwd: string): { options: unknown; added(): string } {
  const sections: Record<string, unknown> = {};
  const commands = () =>
    session.askNow("session.commands") as {
      name: string;
      description?: string;
      source: string;
      sourceInfo: { path: string };
    }[];
  const options = {
    cwd,
    sections,
    get selectedTools() {
      return session.askNow("tools.active") as string[];
    },
    hiddenTools: [],
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [] as unknown[],
    appendSystemPrompt: "",
    contextFiles: [],
    get skills() {
      return commands()
        .filter(({ source }) => source === "skill")
        .map(({ name, description, sourceInfo }) => ({
          name: name.replace(/^skill:/, ""),
          description: description ?? "",
          filePath: sourceInfo.path,
        }));
    },
  };
  return {
    options,
    added() {
      const parts = Object.entries(options.sections).flatMap(([name, text]) =>
        typeof text === "string" && text !== "" ? [`<${name}>\n${text}\n</${name}>`] : [],
      );
      const { appendSystemPrompt, promptGuidelines } = options;
      if (promptGuidelines.length > 0)
        parts.push(promptGuidelines.map((line) => `- ${String(line)}`).join("\n"));
      if (appendSystemPrompt !== "") parts.push(String(appendSystemPrompt));
      return parts.join("\n\n");
    },
  };
}
