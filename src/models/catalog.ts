/** The models that a session may be switched to. */
import type { Api, Model } from "@earendil-works/pi-ai";
import {
  allModels,
  type ModelOptions,
  type ModelsOfProviders,
  type ResolvedModel,
  resolveModel,
  usableModels,
} from "./index.ts";

export interface ModelCatalog {
  /** What can be used now. */
  list(): Promise<Model<Api>[]>;
  /** Throws XdevError `unknown-model`, `no-model` or `bad-models-file`. */
  resolve(provider: string, modelId: string): Promise<ResolvedModel>;
}

export interface FullCatalog extends ModelCatalog {
  /** What is configured, or what the provider of that name has, whether or not it can be used. */
  known(provider?: string): Promise<ModelsOfProviders>;
}

/** Looks each time: keys and files, and the providers that extensions registered, may have changed. */
export function modelCatalog(options: () => Omit<ModelOptions, "spec">): FullCatalog {
  return {
    list: () => usableModels(options()),
    known: (provider) => allModels(options(), provider),
    resolve: (provider, modelId) =>
      resolveModel({
        ...options(),
        spec: provider === "replay" ? `replay:${modelId}` : `${provider}/${modelId}`,
      }),
  };
}
