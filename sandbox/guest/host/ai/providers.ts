/**
 * pi-ai's calls of models. An API that the extension has registered itself is its own code; all others are the host's, whatever they are
 * called: an extension's model never says where a request goes.
 */
import type {
  Api,
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import { hostStream } from "./request.ts";

type Stream = (
  model: Model<Api>,
  context: Context,
  options?: SimpleStreamOptions,
) => AssistantMessageEventStream;

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

const hosts = (api: string): ApiProvider => ({ api, stream: hostStream, streamSimple: hostStream });

export const getApiProvider = (api: string): ApiProvider =>
  registered.get(String(api))?.provider ?? hosts(String(api));

export const getApiProviders = (): ApiProvider[] => [...registered.values()].map(({ provider }) => provider);

export const stream: Stream = (model, context, options) =>
  (registered.get(model?.api)?.provider.stream ?? hostStream)(model, context, options);

export const streamSimple: Stream = (model, context, options) =>
  (registered.get(model?.api)?.provider.streamSimple ?? hostStream)(model, context, options);

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

/** `streamAnthropic`, `anthropicMessagesApi`, …: each protocol's own function. */
const PROTOCOLS =
  "Anthropic AzureOpenAIResponses Google GoogleVertex Mistral OpenAICodexResponses OpenAICompletions OpenAIResponses";
const APIS =
  "anthropicMessagesApi azureOpenAIResponsesApi bedrockConverseStreamApi googleGenerativeAIApi googleVertexApi " +
  "mistralConversationsApi openAICodexResponsesApi openAICompletionsApi openAIResponsesApi piMessagesApi";

const protocols: Record<string, unknown> = {};
for (const name of PROTOCOLS.split(" ")) {
  protocols[`stream${name}`] = hostStream;
  protocols[`streamSimple${name}`] = hostStream;
}
for (const name of APIS.split(" ")) {
  protocols[name] = () => ({ stream: hostStream, streamSimple: hostStream });
}

export const all: Record<string, unknown> = {
  ...{ stream, streamSimple, complete, completeSimple },
  ...{ registerApiProvider, unregisterApiProviders, clearApiProviders, getApiProvider, getApiProviders },
  registerBuiltInApiProviders: nothing,
  resetApiProviders: clearApiProviders,
  setBedrockProviderLoader: nothing,
  setBedrockProviderModule: nothing,
  ...protocols,
};
