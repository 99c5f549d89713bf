/** Sessions for tests: a model that says what it is told to, a real store in a folder of the test, and the tools that it names. */
import type { AgentTool, StreamFn } from "@earendil-works/pi-agent-core";
import type { Api, Message, Model } from "@earendil-works/pi-ai";
import { createAgentSession } from "../../src/agent/agent-session.ts";
import type { AgentSession, SessionEvent } from "../../src/agent/agent-session-types.ts";
import type { AgentSessionOptions } from "../../src/agent/session/options.ts";
import { ToolSet } from "../../src/agent/tool-set.ts";
import type { ResolvedModel } from "../../src/models/index.ts";
import { replayStream } from "../../src/models/replay.ts";
import { SessionStore } from "../../src/session/index.ts";
import type { Folder } from "./folder.ts";

export interface ScriptTurn {
  text?: string;
  thinking?: string;
  toolCalls?: { name: string; arguments?: Record<string, unknown>; id?: string }[];
  error?: string;
  stopReason?: "stop" | "length" | "toolUse";
  /** What the answer says of its request, in tokens. */
  tokens?: number;
}

export type ScriptStep = ScriptTurn | ((request: Request) => ScriptTurn | Promise<ScriptTurn>);

export interface Request {
  messages: Message[];
  signal: AbortSignal | undefined;
  model: Model<Api>;
  reasoning: string | undefined;
}

/** A model that plays steps, one a request, and remembers what it was asked. */
export class ScriptedModel implements ResolvedModel {
  readonly model: Model<Api>;
  readonly requests: Request[] = [];
  readonly #steps: readonly ScriptStep[];
  #waiting: (() => void)[] = [];

  constructor(steps: readonly ScriptStep[], model: Partial<Model<Api>> = {}) {
    this.#steps = steps;
    this.model = {
      id: "scripted",
      name: "scripted",
      api: "scripted",
      provider: "test",
      baseUrl: "",
      reasoning: false,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000,
      maxTokens: 8000,
      ...model,
    };
  }

  readonly stream: StreamFn = async (model, context, options = {}) => {
    const request: Request = {
      messages: structuredClone(context.messages) as Message[],
      signal: options.signal,
      model,
      reasoning: options.reasoning,
    };
    const step = this.#steps[this.requests.length];
    this.requests.push(request);
    for (const wake of this.#waiting.splice(0)) wake();
    const turn = typeof step === "function" ? await step(request) : step;
    const { tokens, ...rest } = turn ?? { error: "the script is over" };
    const calls = rest.toolCalls?.map((call) => ({ arguments: {}, ...call }));
    const { stream } = replayStream("script", [
      { ...rest, ...(calls ? { toolCalls: calls } : {}), delayMs: 0 } as Parameters<
        typeof replayStream
      >[1][number],
    ]);
    const events = await stream(model, context, options);
    if (tokens !== undefined) {
      const message = await events.result();
      message.usage = { ...message.usage, input: tokens, output: 0, totalTokens: tokens };
    }
    return events;
  };

  /** Resolves when the request of that index has been made. */
  async request(index: number): Promise<Request> {
    while (!this.requests[index]) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.requests[index];
  }

  async preload(): Promise<void> {}
}

/** What a request says, system prompt aside: `user: …`, `assistant: …`, `toolResult: …`. */
export function said(request: Request | undefined): string[] {
  return (request?.messages ?? []).flatMap((message) => {
    if (message.role === "system") return [];
    const { content } = message;
    const text =
      typeof content === "string"
        ? content
        : content.map((block) => (block.type === "text" ? block.text : `<${block.type}>`)).join("");
    return [`${message.role}: ${text}`];
  });
}

export function tool(
  name: string,
  execute: (params: Record<string, unknown>, signal: AbortSignal | undefined) => Promise<string> | string,
): AgentTool<object, unknown> {
  return {
    name,
    label: name,
    description: name,
    parameters: { type: "object", properties: {} },
    execute: async (_id, params, signal) => ({
      content: [{ type: "text", text: await execute(params as Record<string, unknown>, signal) }],
      details: {},
    }),
  };
}

export interface Harness extends AsyncDisposable {
  session: AgentSession;
  model: ScriptedModel;
  events: SessionEvent[];
  /** The types of the events so far, parts of streams aside. */
  types(): string[];
  of<T extends SessionEvent["type"]>(type: T): Extract<SessionEvent, { type: T }>[];
  /** Resolves with the next event of the type that comes from now on. */
  next<T extends SessionEvent["type"]>(type: T): Promise<Extract<SessionEvent, { type: T }>>;
}

export interface HarnessOptions extends Partial<Omit<AgentSessionOptions, "tools" | "model">> {
  tools?: AgentTool<object, unknown>[];
  contextWindow?: number;
  reasoning?: boolean;
}

export async function startSession(
  folder: Folder,
  steps: readonly ScriptStep[],
  { tools = [], contextWindow, reasoning, ...options }: HarnessOptions = {},
): Promise<Harness> {
  const model = new ScriptedModel(steps, {
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(reasoning === undefined ? {} : { reasoning }),
  });
  const session = await createAgentSession({
    dataDir: folder.path,
    cwd: folder.path,
    store: SessionStore.create({ dataDir: folder.path, cwd: folder.path }),
    model,
    isModelChosen: true,
    tools: new ToolSet(() => tools, undefined),
    systemPrompt: "You are tested.",
    settings: { retry: { baseDelayMs: 1 } },
    ...options,
  });
  const events: SessionEvent[] = [];
  session.subscribe((event) => void events.push(event));
  return {
    session,
    model,
    events,
    types: () => events.map(({ type }) => type).filter((type) => type !== "message_update"),
    of: <T extends SessionEvent["type"]>(type: T) =>
      events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type),
    next: <T extends SessionEvent["type"]>(type: T) =>
      new Promise<Extract<SessionEvent, { type: T }>>((resolve) => {
        const stop = session.subscribe((event) => {
          if (event.type !== type) return;
          stop();
          resolve(event as Extract<SessionEvent, { type: T }>);
        });
      }),
    [Symbol.asyncDispose]: () => session.dispose(),
  };
}

/** Says something and waits until nothing goes on any more. */
export async function ask(session: AgentSession, text: string): Promise<void> {
  await session.prompt(text);
  await session.waitForIdle();
}
