/**
 * Headers that SDKs take from variables of their own and send to whatever server they talk to. They are the user's, often with a key
 * in them: what is to be sent to a server stands in models.yml.
 */
import type { ProviderHeaders } from "@earendil-works/pi-ai";

/** By what the names of the protocols that its SDK speaks contain. */
const VARIABLES = { openai: "OPENAI_CUSTOM_HEADERS", anthropic: "ANTHROPIC_CUSTOM_HEADERS" } as const;

/**
 * What has to go before the headers of a request, so that those of the variables don't take part: null for each, or the key where it
 * belongs for this protocol, which the SDK would let them replace.
 */
export function withoutSdkHeaders(
  { api, provider }: { api: string; provider: string },
  apiKey: string | undefined,
): ProviderHeaders {
  const headers: ProviderHeaders = {};
  for (const [part, variable] of Object.entries(VARIABLES)) {
    if (!api.includes(part)) continue;
    // The SDKs look at the process's own environment.
    for (const line of (process.env[variable] ?? "").split("\n")) {
      const colon = line.indexOf(":");
      const name = line.slice(0, Math.max(colon, 0)).trim();
      if (name !== "") headers[name] = keyHeader(name.toLowerCase(), api, provider, apiKey) ?? null;
    }
  }
  return headers;
}

function keyHeader(name: string, api: string, provider: string, key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  if (api === "anthropic-messages") {
    const isBearer = provider === "github-copilot" || key.includes("sk-ant-oat");
    if (isBearer) return name === "authorization" ? `Bearer ${key}` : undefined;
    return name === "x-api-key" ? key : undefined;
  }
  if (api === "azure-openai-responses") return name === "api-key" ? key : undefined;
  return api.startsWith("openai-") && name === "authorization" ? `Bearer ${key}` : undefined;
}
