/**
 * Model servers on this machine, found by asking the ports they use. Only 127.0.0.1 and ::1 are asked, with plain
 * `node:http`: no proxy from the environment, no redirect, a limit on time and size. Whatever answers is not trusted.
 */
import type { Api, Model } from "@earendil-works/pi-ai";
import { systemCode } from "../base/errors.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { formatMs } from "../base/time.ts";
import { loadApi } from "./api.ts";
import { NO_KEY } from "./fetch.ts";
import type { ProviderEntry } from "./provider.ts";

export interface LocalServer {
  /** The provider's name: `--model ollama/qwen3`. Servers of one name share it; the first that answers has it. */
  name: string;
  label: string;
  port: number;
  /** What lists the models, in order of preference. */
  paths: readonly string[];
}

const OPENAI = ["/v1/models"];

export const LOCAL_SERVERS: readonly LocalServer[] = [
  { name: "ollama", label: "Ollama", port: 11434, paths: ["/v1/models", "/api/tags"] },
  { name: "llama.cpp", label: "llama.cpp", port: 8080, paths: OPENAI },
  { name: "llama.cpp-9931", label: "llama.cpp", port: 9931, paths: OPENAI },
  { name: "lmstudio", label: "LM Studio", port: 1234, paths: OPENAI },
  { name: "vllm", label: "vLLM", port: 8000, paths: OPENAI },
];

const HOSTS = ["127.0.0.1", "::1"] as const;
export const PROBE_MS = 300;
const MAX_BYTES = 1024 * 1024;
const MAX_MODELS = 500;
/** Small on purpose: a local server that has less cuts the conversation silently. */
const CONTEXT_WINDOW = 32_768;
const MAX_TOKENS = 8192;

/** Asks all servers at once; one entry for each, in the order given. Takes about 300 ms at most. */
export function findLocal(
  servers: readonly LocalServer[] = LOCAL_SERVERS,
  signal?: AbortSignal,
): Promise<ProviderEntry[]> {
  return Promise.all(servers.map((server) => probe(server, signal)));
}

async function probe(server: LocalServer, signal?: AbortSignal): Promise<ProviderEntry> {
  const limit = AbortSignal.any([AbortSignal.timeout(PROBE_MS), ...(signal ? [signal] : [])]);
  const answers = await Promise.all(
    HOSTS.flatMap((host) => server.paths.map((path) => ask(host, server.port, path, limit))),
  );
  const entry = { name: server.name, source: "local" as const };
  const found = answers.find((answer) => answer.models && answer.models.length > 0);
  if (found?.models) return usable(server, found.host, found.models);
  // What answers at all says more than the address where nothing does.
  const told = answers.find((answer) => answer.answered) ?? answers[0];
  return {
    ...entry,
    models: [],
    reason: `${server.label}, port ${server.port}: ${told?.reason ?? "no answer"}`,
  };
}

interface Answer {
  host: string;
  answered: boolean;
  reason?: string;
  models?: { id: string; contextWindow: number }[];
}

function ask(host: string, port: number, path: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = (reason: string, answered = false) => resolve({ host, answered, reason });
    const onError = (error: Error) =>
      failed(
        signal.aborted
          ? `no answer within ${formatMs(PROBE_MS)}`
          : systemCode(error) === "ECONNREFUSED"
            ? "nothing listens there"
            : `can't be asked (${systemCode(error) ?? "error"})`,
      );
    // Most runs ask no local server, and loading this costs 8 ms.
    const request = process
      .getBuiltinModule("node:http")
      .get(
        { host, port, path, signal, agent: false, headers: { accept: "application/json" } },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("error", onError);
          response.on("data", (part: string) => {
            text += part;
            if (text.length <= MAX_BYTES) return;
            failed("answers, but not as a model server", true);
            request.destroy();
          });
          response.on("end", () => {
            const models = response.statusCode === 200 ? readModels(text) : undefined;
            if (!models) return failed("answers, but not as a model server", true);
            resolve({ host, answered: true, models, reason: "answers, but has no models" });
          });
        },
      );
    request.on("error", onError);
  });
}

/** The models in an answer of `/v1/models` or Ollama's `/api/tags`; undefined if it is neither. */
export function readModels(text: string): { id: string; contextWindow: number }[] | undefined {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fields = data as { data?: unknown; models?: unknown } | null;
  const list = Array.isArray(fields?.data) ? fields.data : fields?.models;
  if (!Array.isArray(list)) return undefined;
  const models = list.slice(0, MAX_MODELS).flatMap((item: unknown) => {
    const { id, name, max_model_len, meta } = (item ?? {}) as Record<string, unknown>;
    const given = typeof id === "string" ? id : name;
    // An id that had to be changed to be shown could not be asked for.
    if (typeof given !== "string" || !given || given !== ellipsis(stripControls(given), 200)) return [];
    if (/embed/i.test(given)) return [];
    const { n_ctx, n_ctx_train } = (meta ?? {}) as Record<string, unknown>;
    const size = [max_model_len, n_ctx, n_ctx_train].find((one) => Number.isInteger(one) && Number(one) > 0);
    return [{ id: given, contextWindow: Number(size ?? CONTEXT_WINDOW) }];
  });
  return list.length > 0 && models.length === 0 && !list.some((item) => hasName(item)) ? undefined : models;
}

function hasName(item: unknown): boolean {
  const fields = (item ?? {}) as Record<string, unknown>;
  return typeof fields.id === "string" || typeof fields.name === "string";
}

function usable(server: LocalServer, host: string, found: NonNullable<Answer["models"]>): ProviderEntry {
  const baseUrl = `http://${host.includes(":") ? `[${host}]` : host}:${server.port}/v1`;
  const models = found.map(
    ({ id, contextWindow }): Model<Api> => ({
      id,
      name: id,
      api: "openai-completions",
      provider: server.name,
      baseUrl,
      reasoning: false,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow,
      maxTokens: Math.min(MAX_TOKENS, contextWindow),
    }),
  );
  return {
    name: server.name,
    source: "local",
    models,
    route: {
      party: {
        provider: server.name,
        baseUrl,
        credential: `the server on port ${server.port} wants one: add it to models.yml`,
      },
      load: async () => (await loadApi("openai-completions")).streamSimple,
      auth: () => ({ apiKey: NO_KEY }),
    },
  };
}
