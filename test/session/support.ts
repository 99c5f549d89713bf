import type { NewEntry } from "../../src/session/types.ts";

/** A user message. */
export function user(text: string): NewEntry {
  return { type: "message", message: { role: "user", content: text, timestamp: 1 } };
}

const COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** An answer. */
export function assistant(text: string, toolCall?: string): NewEntry {
  return {
    type: "message",
    message: {
      role: "assistant",
      content: [
        { type: "text", text },
        ...(toolCall ? [{ type: "toolCall" as const, id: toolCall, name: "bash", arguments: {} }] : []),
      ],
      api: "openai-completions",
      provider: "local",
      model: "small",
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: COST },
      stopReason: toolCall ? "toolUse" : "stop",
      timestamp: 2,
    },
  };
}

export function toolResult(id: string, text: string): NewEntry {
  return {
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: id,
      toolName: "bash",
      content: [{ type: "text", text }],
      isError: false,
      timestamp: 3,
    },
  };
}

/** A file's lines as values. */
export function parseLines(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

export const HEADER = {
  type: "session",
  version: 3,
  id: "01a22dd7-0000-7000-8000-000000000001",
  timestamp: "2026-01-02T03:04:05.678Z",
  cwd: "/work/demo",
};

/** The lines of a file: a header, and entries that follow each other unless they say what they follow. */
export function fileOf(entries: readonly object[], header: object | null = HEADER): string {
  let parentId: string | null = null;
  const lines = entries.map((entry, place) => {
    const id = `0000000${place}`.slice(-8);
    const line = { type: "message", id, parentId, timestamp: "2026-01-02T03:04:06.000Z", ...entry };
    parentId = line.id;
    return JSON.stringify(line);
  });
  return [...(header ? [JSON.stringify(header)] : []), ...lines, ""].join("\n");
}
