/**
 * The providers that need no configuration but a key in the environment. Their models, addresses and protocols are pi-ai's
 * catalogue; a provider's part of it is loaded when that provider is used or listed. In order of preference.
 *
 * Not here: what finds credentials outside the given environment (Bedrock, Vertex), what needs a browser login, and
 * subscription tokens that are meant for their vendor's own client.
 */
import type { Api, Model, Provider } from "@earendil-works/pi-ai";
import { XdevError } from "../base/errors.ts";
import { addSecret } from "../base/log.ts";
import type { Env } from "./expand.ts";
import type { RequestAuth } from "./stream.ts";

interface Builtin {
  /** Any of these holds the key. */
  keys: readonly string[];
  /** All of these are needed besides. */
  also?: readonly string[];
  /** The model to take when the user named none. */
  model: string;
  load(): Promise<Provider>;
}

function of(
  keys: string | readonly string[],
  model: string,
  load: () => Promise<object>,
  also?: readonly string[],
): Builtin {
  return {
    keys: typeof keys === "string" ? [keys] : keys,
    ...(also && { also }),
    model,
    // A provider module exports one factory, named after it.
    load: async () => {
      const factory = Object.entries(await load()).find(([name]) =>
        name.endsWith("Provider"),
      )?.[1] as () => Provider;
      return factory();
    },
  };
}

const BUILTINS: Readonly<Record<string, Builtin>> = {
  anthropic: of(
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    "claude-opus-5-5",
    () => import("@earendil-works/pi-ai/providers/anthropic"),
  ),
  openai: of("OPENAI_API_KEY", "gpt-6.2-sol", () => import("@earendil-works/pi-ai/providers/openai")),
  google: of("GEMINI_API_KEY", "gemini-4-argon", () => import("@earendil-works/pi-ai/providers/google")),
  openrouter: of(
    "OPENROUTER_API_KEY",
    "moonshotai/kimi-k2.7-code",
    () => import("@earendil-works/pi-ai/providers/openrouter"),
  ),
  xai: of("XAI_API_KEY", "grok-4.7", () => import("@earendil-works/pi-ai/providers/xai")),
  mistral: of(
    "MISTRAL_API_KEY",
    "devstral-medium-latest",
    () => import("@earendil-works/pi-ai/providers/mistral"),
  ),
  deepseek: of(
    "DEEPSEEK_API_KEY",
    "deepseek-v4-pro",
    () => import("@earendil-works/pi-ai/providers/deepseek"),
  ),
  groq: of("GROQ_API_KEY", "openai/gpt-oss-120b", () => import("@earendil-works/pi-ai/providers/groq")),
  cerebras: of("CEREBRAS_API_KEY", "gpt-oss-120b", () => import("@earendil-works/pi-ai/providers/cerebras")),
  together: of(
    "TOGETHER_API_KEY",
    "moonshotai/Kimi-K3",
    () => import("@earendil-works/pi-ai/providers/together"),
  ),
  fireworks: of(
    "FIREWORKS_API_KEY",
    "accounts/fireworks/models/kimi-k3",
    () => import("@earendil-works/pi-ai/providers/fireworks"),
  ),
  huggingface: of(
    "HF_TOKEN",
    "moonshotai/Kimi-K2.7-Code",
    () => import("@earendil-works/pi-ai/providers/huggingface"),
  ),
  azure: of("AZURE_OPENAI_API_KEY", "gpt-6.2-sol", () => import("@earendil-works/pi-ai/providers/azure")),
  moonshotai: of(
    "MOONSHOT_API_KEY",
    "kimi-k2.7-code",
    () => import("@earendil-works/pi-ai/providers/moonshotai"),
  ),
  zai: of("ZAI_API_KEY", "glm-5.3", () => import("@earendil-works/pi-ai/providers/zai")),
  minimax: of("MINIMAX_API_KEY", "MiniMax-M3", () => import("@earendil-works/pi-ai/providers/minimax")),
  nvidia: of(
    "NVIDIA_API_KEY",
    "nvidia/nemotron-3.5-super-vl-120b-a12b",
    () => import("@earendil-works/pi-ai/providers/nvidia"),
  ),
  baseten: of("BASETEN_API_KEY", "zai-org/GLM-5.3", () => import("@earendil-works/pi-ai/providers/baseten")),
  meta: of("META_API_KEY", "muse-spark-1.3", () => import("@earendil-works/pi-ai/providers/meta")),
  "vercel-ai-gateway": of(
    "AI_GATEWAY_API_KEY",
    "zai/glm-5.3",
    () => import("@earendil-works/pi-ai/providers/vercel-ai-gateway"),
  ),
  opencode: of(
    "OPENCODE_API_KEY",
    "kimi-k2.7-code",
    () => import("@earendil-works/pi-ai/providers/opencode"),
  ),
  "github-copilot": of(
    "COPILOT_GITHUB_TOKEN",
    "gpt-6.1-sol",
    () => import("@earendil-works/pi-ai/providers/github-copilot"),
  ),
  "kimi-coding": of(
    "KIMI_API_KEY",
    "kimi-for-coding",
    () => import("@earendil-works/pi-ai/providers/kimi-coding"),
  ),
  "ant-ling": of("ANT_LING_API_KEY", "Ring-2.6-1T", () => import("@earendil-works/pi-ai/providers/ant-ling")),
  xiaomi: of("XIAOMI_API_KEY", "mimo-v2.6-pro", () => import("@earendil-works/pi-ai/providers/xiaomi")),
  "qwen-token-plan": of(
    ["QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"],
    "qwen3.8-max",
    () => import("@earendil-works/pi-ai/providers/qwen-token-plan"),
  ),
  "cloudflare-workers-ai": of(
    "CLOUDFLARE_API_KEY",
    "@cf/moonshotai/kimi-k2.7-code",
    () => import("@earendil-works/pi-ai/providers/cloudflare-workers-ai"),
    ["CLOUDFLARE_ACCOUNT_ID"],
  ),
};

/** Settings that some of them read from the environment besides the key; passed on from the given environment only. */
const SETTINGS = [
  "AZURE_OPENAI_BASE_URL",
  "AZURE_OPENAI_RESOURCE_NAME",
  "AZURE_OPENAI_API_VERSION",
  "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
];

export const BUILTIN_NAMES: readonly string[] = Object.keys(BUILTINS);

export function isBuiltin(name: string): boolean {
  return Object.hasOwn(BUILTINS, name);
}

/** The variables that hold a built-in provider's key, most usual first. */
export function keyVariables(name: string): readonly string[] {
  return builtin(name).keys;
}

/** Why the provider can't be used with this environment, naming the variables; undefined if it can. Loads nothing. */
export function missingKey(name: string, env: Env): string | undefined {
  const { keys, also = [] } = builtin(name);
  const set = keys.some((key) => env[key]);
  const missing = also.filter((key) => !env[key]);
  if (set && missing.length === 0) return undefined;
  return `${[...(set ? [] : [keys.join(" or ")]), ...missing].join(" and ")} is not set`;
}

export interface LoadedBuiltin {
  provider: Provider;
  models: readonly Model<Api>[];
  /** The id of the model to use when none was named. */
  preferred: string | undefined;
}

export async function loadBuiltin(name: string): Promise<LoadedBuiltin> {
  const { load, model } = builtin(name);
  const provider = await load();
  const models = provider.getModels();
  const preferred = models.some((one) => one.id === model) ? model : models[0]?.id;
  return { provider, models, preferred };
}

/** Resolves the key of a built-in provider from `env`, or from `apiKey` if models.yml gives one. */
export async function builtinAuth(
  name: string,
  provider: Provider,
  env: Env,
  apiKey: string | undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<RequestAuth> {
  const { keys, also = [] } = builtin(name);
  const visible = new Set<string>([...keys, ...also, ...SETTINGS]);
  for (const key of keys) addSecret(env[key]);
  const settings: Record<string, string> = {};
  for (const setting of visible) {
    const value = env[setting];
    if (value && !keys.includes(setting)) settings[setting] = value;
  }
  const result = await provider.auth.apiKey?.resolve({
    ctx: {
      env: async (variable) => (visible.has(variable) ? env[variable] || undefined : undefined),
      fileExists: async () => false,
    },
    credential: apiKey === undefined ? undefined : { type: "api_key", key: apiKey, env: settings },
    signal,
  });
  if (!result) throw new XdevError("no-model", `provider "${name}": ${missingKey(name, env) ?? "no key"}`);
  const { auth } = result;
  return {
    ...(auth.apiKey !== undefined && { apiKey: auth.apiKey }),
    ...(auth.baseUrl !== undefined && { baseUrl: auth.baseUrl }),
    headers: auth.headers ?? {},
    env: { ...settings, ...result.env },
  };
}

function builtin(name: string): Builtin {
  const found = BUILTINS[name];
  if (!found) throw new XdevError("unknown-model", `there is no built-in provider "${name}"`);
  return found;
}
