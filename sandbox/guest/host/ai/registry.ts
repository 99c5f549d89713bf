/** `ctx.modelRegistry`: what the host knows of models, as this family's agents show it to extensions. */

import { agent, own } from "xdev:system";
import type { Api, AssistantMessage, Context, Model, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { getModel, getModels, isUsable, keyHandle, known } from "./models.ts";

type Named = Pick<Model<Api>, "provider">;
type Request = (model: Model<Api>, context: Context, options?: SimpleStreamOptions) => unknown;

const call =
  (name: string): Request =>
  (...args) =>
    (own("pi-ai") as Record<string, Request>)[name]!(...args);

const refuse =
  (method: string, instead = "use pi.registerProvider") =>
  (): never => {
    throw new Error(`ctx.modelRegistry.${method}() is not possible in the sandbox: ${instead}`);
  };

/** pi-ai's contract for these two: they never reject. */
const failed =
  (method: string, nothing: Record<string, unknown>) =>
  async (model?: Partial<Model<Api>>): Promise<Record<string, unknown>> => ({
    ...{ api: model?.api, provider: model?.provider, model: model?.id },
    ...nothing,
    stopReason: "error",
    errorMessage: `ctx.modelRegistry.${method}() is not possible in the sandbox: only models that chat can be asked`,
    timestamp: Date.now(),
  });

/** Older versions' way to keys: which there are, and handles for them. What is kept is the host's, and does not change from here. */
const authStorage = {
  get: () => undefined,
  has: isUsable,
  hasAuth: isUsable,
  list: (): string[] => known().providers.flatMap(({ name, usable }) => (usable ? [name] : [])),
  getApiKey: keyHandle,
  getOAuthProviders: (): never[] => [],
  reload: () => agent.forget(),
  ...Object.fromEntries(
    ["set", "remove", "login", "logout"].map((name) => [
      name,
      refuse(`authStorage.${name}`, "use xdev login"),
    ]),
  ),
};

export const modelRegistry = {
  authStorage,
  refresh: async () => {
    agent.forget();
    return { aborted: false, errors: new Map<string, Error>() };
  },
  getError: () => undefined,
  /** Of every provider that is configured, and of the built-in ones that can be used. */
  getAll: (): Model<Api>[] => known().models,
  getAvailable: (): Model<Api>[] => {
    const { models, providers } = known();
    const usable = new Set(providers.filter((one) => one.usable).map(({ name }) => name));
    return models.filter(({ provider }) => usable.has(provider));
  },
  find: getModel,
  findOfType: (type: string, provider: string, id: string) =>
    type === "chat" ? getModel(provider, id) : undefined,
  getModelOfType: (type: string, provider: string, id: string) =>
    type === "chat" ? getModel(provider, id) : undefined,
  getModelsOfType: (type: string, provider?: string): Model<Api>[] => {
    if (type !== "chat") return [];
    return provider === undefined ? known().models : getModels(provider);
  },
  getAvailableOfType: async (type: string, provider?: string): Promise<Model<Api>[]> =>
    modelRegistry
      .getAvailable()
      .filter((model) => type === "chat" && (provider === undefined || model.provider === provider)),
  hasConfiguredAuth: ({ provider }: Named): boolean => isUsable(provider),
  isUsingOAuth: ({ provider }: Named): boolean =>
    known().providers.some(({ name, usesLogin }) => name === provider && usesLogin === true),
  getProviderAuthStatus: (provider: string) => ({ configured: isUsable(provider) }),
  getProviderDisplayName: (provider: string): string => provider,
  /** A handle: it holds no secret (models.ts). */
  getApiKey: ({ provider }: Named) => keyHandle(provider),
  getApiKeyForProvider: keyHandle,
  getApiKeyAndHeaders: async ({ provider }: Named) => {
    try {
      const apiKey = await keyHandle(provider);
      if (apiKey !== undefined) return { ok: true, apiKey, headers: {} };
      return { ok: false, error: `provider ${provider} has no credentials` };
    } catch (error) {
      return { ok: false, error: error instanceof Error ? error.message : String(error) };
    }
  },
  getProviderAuth: async (provider: string) => {
    const apiKey = await keyHandle(provider);
    return apiKey === undefined ? undefined : { auth: { apiKey } };
  },
  getProvider: () => undefined,
  stream: call("stream"),
  streamSimple: call("streamSimple"),
  complete: call("complete") as (...args: Parameters<Request>) => Promise<AssistantMessage>,
  completeSimple: call("completeSimple"),
  classify: failed("classify", { answers: {} }),
  generateImages: failed("generateImages", { output: [] }),
  registerProvider: refuse("registerProvider"),
  unregisterProvider: refuse("unregisterProvider"),
  registerVirtualModel: refuse("registerVirtualModel"),
  unregisterVirtualModel: refuse("unregisterVirtualModel"),
  getRegisteredProviderConfig: () => undefined,
  getRegisteredNativeProvider: () => undefined,
  getRegisteredProviderIds: (): string[] => [],
};
