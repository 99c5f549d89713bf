/** A model on a loopback port for many sessions at once: each has a script of its own, and what was wrong with its requests. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Turn } from "./expectations.ts";

interface Message {
  role: string;
  content?: string | { text?: string }[] | null;
}

interface Body {
  model: string;
  messages: Message[];
  tools?: { function?: { name?: string } }[];
}

interface Script {
  turns: readonly Turn[];
  next: number;
  problems: string[];
}

export class ScriptedModels implements AsyncDisposable {
  readonly #scripts = new Map<string, Script>();
  readonly #server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part as string;
    const script = this.#scripts.get(request.url?.split("/")[1] ?? "");
    if (!script) return void response.writeHead(404).end();
    await answer(response, script, JSON.parse(text || "{}") as Body);
  });
  #count = 0;

  static async start(): Promise<ScriptedModels> {
    const models = new ScriptedModels();
    await new Promise<void>((resolve) => models.#server.listen(0, "127.0.0.1", resolve));
    return models;
  }

  /** A model that plays these turns once. `problems` says what was wrong so far, turns that were not played included. */
  play(turns: readonly Turn[]): { baseUrl: string; problems(): string[] } {
    const name = `s${++this.#count}`;
    const script: Script = { turns, next: 0, problems: [] };
    this.#scripts.set(name, script);
    const { port } = this.#server.address() as AddressInfo;
    return {
      baseUrl: `http://127.0.0.1:${port}/${name}/v1`,
      problems: () => {
        const left = turns.length - script.next;
        return left > 0
          ? [...script.problems, `${left} of ${turns.length} turns were not played`]
          : script.problems;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function answer(response: ServerResponse, script: Script, body: Body): Promise<void> {
  const index = script.next++;
  const turn = script.turns[index];
  const problems = turn
    ? wrong(turn, body)
    : [`there are ${script.turns.length} turns, and one more was asked for: ${last(body)}`];
  script.problems.push(...problems.map((problem) => `turn ${index + 1}: ${problem}`));
  if (!turn || turn.status !== undefined) {
    response.writeHead(turn?.status ?? 400, { "content-type": "application/json" });
    return void response.end(
      JSON.stringify({ error: { message: problems.join("; ") || "as the script says" } }),
    );
  }
  if (turn.delay) await new Promise((resolve) => setTimeout(resolve, turn.delay));
  response.writeHead(200, { "content-type": "text/event-stream", "x-request-id": `request-${index}` });
  response.end(
    `${eventsOf(turn, index)
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join("")}data: [DONE]\n\n`,
  );
}

function eventsOf(turn: Turn, index: number): object[] {
  const event = (fields: object) => ({
    id: `c${index}`,
    object: "chat.completion.chunk",
    created: 1,
    model: "test",
    ...fields,
  });
  const delta = (fields: object, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta: fields, finish_reason }] });
  const calls = (turn.toolCalls ?? []).map(({ name, arguments: given }, position) =>
    delta({
      tool_calls: [
        {
          index: position,
          id: `call_${index}_${position}`,
          type: "function",
          function: { name, arguments: JSON.stringify(given) },
        },
      ],
    }),
  );
  const prompt_tokens = turn.tokens ?? 10;
  return [
    delta({ role: "assistant", content: "" }),
    ...(turn.thinking ? [delta({ reasoning_content: turn.thinking })] : []),
    ...(turn.text ? (turn.text.match(/\s*\S+|\s+/g) ?? []).map((content) => delta({ content })) : []),
    ...calls,
    delta({}, calls.length > 0 ? "tool_calls" : "stop"),
    event({ choices: [], usage: { prompt_tokens, completion_tokens: 5, total_tokens: prompt_tokens + 5 } }),
  ];
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}

function last({ messages }: Body): string {
  return textOf(messages.at(-1) ?? { role: "none" });
}

function wrong(turn: Turn, body: Body): string[] {
  const system = body.messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(textOf)
    .join("\n");
  const all = body.messages.map(textOf).join("\n");
  const tools = (body.tools ?? []).map((tool) => tool.function?.name ?? "");
  const missing = (texts: readonly string[] | undefined, where: string, name: string) =>
    (texts ?? [])
      .filter((text) => !where.includes(text))
      .map((text) => `${name} lacks ${JSON.stringify(text)}: ${where.slice(-600)}`);
  return [
    ...(turn.asked !== undefined && turn.asked !== body.model ? [`it was asked of ${body.model}`] : []),
    ...missing(turn.after, last(body), "the last message"),
    ...(turn.afterLacks ?? [])
      .filter((text) => last(body).includes(text))
      .map((text) => `the last message has ${JSON.stringify(text)}`),
    ...missing(turn.system, system, "the system prompt"),
    ...missing(turn.holds, all, "the request"),
    ...(turn.lacks ?? [])
      .filter((text) => all.includes(text))
      .map((text) => `the request has ${JSON.stringify(text)}`),
    ...(turn.tools ?? [])
      .filter((name) => !tools.includes(name))
      .map((name) => `the tool ${name} is not offered: ${tools.join(", ")}`),
    ...(turn.withoutTools ?? [])
      .filter((name) => tools.includes(name))
      .map((name) => `the tool ${name} is offered`),
  ];
}
