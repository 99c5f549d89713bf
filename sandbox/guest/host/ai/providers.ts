/**
 * pi-ai's calls of models. An API that the extension has registered itself is its own code, a request with a key of its own goes
 * out from here (own-key.ts), and all others are the host's, whatever they are called.
 */
import type { Api, AssistantMessage, Context, Model, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { ownProtocol, ownRequest, type Stream } from "./own-key.ts";
import { hostStream } from "./request.ts";

interface ApiProvider {
  api: string;
  stream: Stream;
  streamSimple: Stream;
}

/** What this extension has registered, by the API's name. */
const registered = new Map<string, { provider: ApiProvider; source: string | undefined }>();

export function registerApiProvider(provider: ApiProvider, source?: string): void {
  registered.set(provider.api, { provider, source });
}

export function unregisterApiProviders(source: string): void {
  for (const [api, entry] of registered) if (entry.source === source) registered.delete(api);
}

export const clearApiProviders = (): void => registered.clear();

/** The functions of one protocol. */
const builtIn = (api: string): ApiProvider => ({
  api,
  stream: (...request) => (ownProtocol(api, "stream", request[2]) ?? hostStream)(...request),
  streamSimple: (...request) => (ownProtocol(api, "streamSimple", request[2]) ?? hostStream)(...request),
});

export const getApiProvider = (api: string): ApiProvider =>
  registered.get(String(api))?.provider ?? builtIn(String(api));

export const getApiProviders = (): ApiProvider[] => {
  const names = new Set([...Object.values(APIS), ...registered.keys()]);
  return [...names].map(getApiProvider);
};

const streamOf =
  (kind: "stream" | "streamSimple"): Stream =>
  (...request) => {
    const [model, , options] = request;
    const chosen =
      registered.get(model?.api)?.provider[kind] ?? ownRequest(model, kind, options) ?? hostStream;
    return chosen(...request);
  };

export const stream = streamOf("stream");

export const streamSimple = streamOf("streamSimple");

export const complete = (
  model: Model<Api>,
  context: Context,
  options?: SimpleStreamOptions,
): Promise<AssistantMessage> => stream(model, context, options).result();

export const completeSimple = (
  model: Model<Api>,
  context: Context,
  options?: SimpleStreamOptions,
): Promise<AssistantMessage> => streamSimple(model, context, options).result();

const nothing = (): void => {};

/** `streamAnthropic`, `anthropicMessagesApi`, …: each protocol's own functions. */
const STREAMS: Readonly<Record<string, string>> = {
  Anthropic: "anthropic-messages",
  AzureOpenAIResponses: "azure-openai-responses",
  Google: "google-generative-ai",
  GoogleVertex: "google-vertex",
  Mistral: "mistral-conversations",
  OpenAICodexResponses: "openai-codex-responses",
  OpenAICompletions: "openai-completions",
  OpenAIResponses: "openai-responses",
};
const APIS: Readonly<Record<string, string>> = {
  anthropicMessagesApi: "anthropic-messages",
  azureOpenAIResponsesApi: "azure-openai-responses",
  bedrockConverseStreamApi: "bedrock-converse-stream",
  googleGenerativeAIApi: "google-generative-ai",
  googleVertexApi: "google-vertex",
  mistralConversationsApi: "mistral-conversations",
  openAICodexResponsesApi: "openai-codex-responses",
  openAICompletionsApi: "openai-completions",
  openAIResponsesApi: "openai-responses",
  piMessagesApi: "pi-messages",
};

const protocols: Record<string, unknown> = {};
for (const [name, api] of Object.entries(STREAMS)) {
  const provider = builtIn(api);
  protocols[`stream${name}`] = provider.stream;
  protocols[`streamSimple${name}`] = provider.streamSimple;
}
for (const [name, api] of Object.entries(APIS)) protocols[name] = () => builtIn(api);

export const all: Record<string, unknown> = {
  ...{ stream, streamSimple, complete, completeSimple },
  ...{ registerApiProvider, unregisterApiProviders, clearApiProviders, getApiProvider, getApiProviders },
  registerBuiltInApiProviders: nothing,
  resetApiProviders: clearApiProviders,
  setBedrockProviderLoader: nothing,
  setBedrockProviderModule: nothing,
  ...protocols,
};
