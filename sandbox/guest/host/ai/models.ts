/** What the host knows of models. Its answers are data: no key, and no header that may hold one. */

import { agent } from "xdev:system";
import type { Api, Model } from "@earendil-works/pi-ai";

export interface Known {
  models: Model<Api>[];
  providers: { name: string; usable: boolean; usesLogin?: boolean }[];
}

/** Those of one provider, or all that are configured. Asked while the guest waits. */
export function known(provider?: string): Known {
  return agent.askNow("models.known", provider === undefined ? {} : { provider: String(provider) }) as Known;
}

export function getModel(provider: string, id: string): Model<Api> | undefined {
  return getModels(provider).find((model) => model.id === id);
}

export function getModels(provider: string): Model<Api>[] {
  return known(provider).models.filter((model) => model.provider === provider);
}

export const getProviders = (): string[] => known().providers.map(({ name }) => name);

export function isUsable(provider: string): boolean {
  return known().providers.some(({ name, usable }) => name === provider && usable);
}

/**
 * What stands for a provider's key here. It holds no secret and opens nothing: a request names its model, and the host uses the key that
 * it has for that.
 */
export const handleOf = (provider: string): string => `${HANDLE}${provider}`;
const HANDLE = "xdev-key:";
export const isHandle = (key: string): boolean => key.startsWith(HANDLE);

/** Demands the permission `model`. */
export async function keyHandle(provider: string): Promise<string | undefined> {
  const { usable } = (await agent.ask("model.mayUse", { provider: String(provider) })) as { usable: boolean };
  return usable ? handleOf(provider) : undefined;
}

export const getEnvApiKey = (provider: string): string | undefined =>
  isUsable(provider) ? handleOf(provider) : undefined;
