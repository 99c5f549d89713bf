import type { ProviderStreams } from "@earendil-works/pi-ai";

/**
 * The wire protocols a models.yml provider can speak: pi-ai's names and what people call them. Not here: Bedrock and
 * Vertex (their SDKs find credentials by themselves, in files and metadata servers) and OAuth-only ones.
 *
 * Each import is written out, since a bundler follows only literal specifiers.
 */
const APIS = {
  "openai-completions": () => import("@earendil-works/pi-ai/api/openai-completions"),
  "openai-responses": () => import("@earendil-works/pi-ai/api/openai-responses"),
  "azure-openai-responses": () => import("@earendil-works/pi-ai/api/azure-openai-responses"),
  "anthropic-messages": () => import("@earendil-works/pi-ai/api/anthropic-messages"),
  "google-generative-ai": () => import("@earendil-works/pi-ai/api/google-generative-ai"),
  "mistral-conversations": () => import("@earendil-works/pi-ai/api/mistral-conversations"),
} as const;

export type ApiName = keyof typeof APIS;

const ALIASES: Readonly<Record<string, ApiName>> = {
  openai: "openai-completions",
  "openai-chat": "openai-completions",
  "chat-completions": "openai-completions",
  responses: "openai-responses",
  azure: "azure-openai-responses",
  anthropic: "anthropic-messages",
  google: "google-generative-ai",
  gemini: "google-generative-ai",
  mistral: "mistral-conversations",
};

export const API_NAMES: readonly string[] = Object.keys(APIS);
export const API_ALIASES: readonly string[] = Object.keys(ALIASES);
export const DEFAULT_API: ApiName = "openai-completions";

/** The protocol a name or alias stands for, or undefined. */
export function apiName(name: string): ApiName | undefined {
  return Object.hasOwn(APIS, name)
    ? (name as ApiName)
    : Object.hasOwn(ALIASES, name)
      ? ALIASES[name]
      : undefined;
}

/** Loads a protocol and its SDK: 30 to 75 ms from source, so not before the first request (see `preloadApi`). */
export async function loadApi(name: ApiName): Promise<ProviderStreams> {
  return (await APIS[name]()) as unknown as ProviderStreams;
}
