/** The system prompt. With the tools' descriptions it stays under 1,000 tokens (a test counts), AGENTS.md files aside. */

export interface PromptParts {
  /** Replaces the built-in text (`--system-prompt`). */
  replace?: string;
  /** Added behind everything (`--append-system-prompt`). */
  append?: string;
  cwd: string;
  /** Today's date, as `2026-11-30`. */
  date: string;
  instructions: readonly { path: string; text: string }[];
}

const BUILT_IN = `You are xdev, a coding agent in the user's terminal. You read, change and run code with your tools.
- Look before you change: read a file before you edit it. Prefer edit over write for files that exist.
- Do what was asked, no more; keep the style of the code around it. Check your work by running it where that is cheap.
- A tool call that is blocked was refused by the user's policy: say so, and don't look for a way around it.
- Be brief. Name files by their paths. If something failed or was not done, say it plainly.`;

export function systemPrompt(parts: PromptParts): string {
  const sections = [parts.replace ?? BUILT_IN];
  for (const { path, text } of parts.instructions) {
    sections.push(`<instructions path="${path}">\n${text}\n</instructions>`);
  }
  if (parts.append) sections.push(parts.append);
  sections.push(`Today is ${parts.date}. Working directory: ${parts.cwd}`);
  return sections.join("\n\n");
}
