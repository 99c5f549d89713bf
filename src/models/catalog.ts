/** The models that a session may be switched to. */
import type { Api, Model } from "@earendil-works/pi-ai";
import { type ModelOptions, type ResolvedModel, resolveModel, usableModels } from "./index.ts";

export interface ModelCatalog {
  /** What can be used now. */
  list(): Promise<Model<Api>[]>;
  /** Throws XdevError `unknown-model`, `no-model` or `bad-models-file`. */
  resolve(provider: string, modelId: string): Promise<ResolvedModel>;
}

/** Looks each time: keys and files, and the providers that extensions registered, may have changed. */
export function modelCatalog(options: () => Omit<ModelOptions, "spec">): ModelCatalog {
  return {
    list: () => usableModels(options()),
    resolve: (provider, modelId) =>
      resolveModel({
        ...options(),
        spec: provider === "replay" ? `replay:${modelId}` : `${provider}/${modelId}`,
      }),
  };
}
