import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AssistantMessage, AssistantMessageEvent, TranscriptContext } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { type ModelOptions, type ResolvedModel, resolveModel } from "../../src/models/index.ts";
import { type ModelServer, type ServerOptions, startModelServer } from "../fixtures/model-server.ts";

/** A data dir with these files, removed afterwards. */
export async function withFolder<T>(
  files: Record<string, string>,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "xdev-models-"));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function withServer<T>(
  options: ServerOptions,
  use: (server: ModelServer) => Promise<T>,
): Promise<T> {
  const server = await startModelServer(options);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** Resolves with a models.yml of this text; no local servers, no environment but the given one. */
export function resolveWith(yaml: string, options: Partial<ModelOptions> = {}): Promise<ResolvedModel> {
  return withFolder({ "models.yml": yaml }, (dataDir) =>
    resolveModel({ dataDir, cwd: dataDir, env: {}, localServers: [], ...options }),
  );
}

/** The model of a test server, over models.yml. */
export function resolveServer(
  server: ModelServer,
  options: Partial<ModelOptions> = {},
): Promise<ResolvedModel> {
  const api = server.api === "openai" ? "openai-completions" : "anthropic-messages";
  return resolveWith(modelsYml(server.baseUrl, { api }), { tuning: { retryBaseMs: 1 }, ...options });
}

export function modelsYml(baseUrl: string, fields: Record<string, string> = {}): string {
  const lines = Object.entries(fields).map(([name, value]) => `    ${name}: ${value}`);
  return [
    "providers:",
    "  x:",
    `    baseUrl: ${baseUrl}`,
    ...lines,
    "    models: [{ id: test-model }]",
    "",
  ].join("\n");
}

export function contextOf(text = "hello"): TranscriptContext {
  return normalizeContext({
    systemPrompt: "You are a test.",
    messages: [{ role: "user", content: text, timestamp: Date.now() }],
  });
}

export interface Played {
  message: AssistantMessage;
  events: AssistantMessageEvent[];
}

/** One request, to its end. */
export async function ask(
  { model, stream }: ResolvedModel,
  options: { signal?: AbortSignal; context?: TranscriptContext } = {},
): Promise<Played> {
  const { context = contextOf(), signal } = options;
  const answer = await stream(model, context, signal ? { signal } : {});
  const events: AssistantMessageEvent[] = [];
  for await (const event of answer) events.push(event);
  return { message: await answer.result(), events };
}

export function textOf(message: AssistantMessage): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
