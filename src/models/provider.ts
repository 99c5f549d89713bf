import type { Api, Model } from "@earendil-works/pi-ai";
import { XdevError } from "../base/errors.ts";
import type { Route } from "./stream.ts";

export type ProviderSource = "models.yml" | "built-in" | "local" | "extension";

/** A provider, ready to use or with the reason why it is not. */
export interface ProviderEntry {
  name: string;
  source: ProviderSource;
  /** The extension that registered it, or changes it. */
  extension?: string;
  models: readonly Model<Api>[];
  /** Absent when it can't be used. */
  route?: Route;
  /** Why it can't be used. */
  reason?: string;
  /** Its key comes from a login of the user's. */
  usesLogin?: boolean;
  /** The id of the model to take when the user named none; default: the first. */
  preferred?: string;
}

/** The route of a provider that is to be used; throws XdevError `no-model` with the reason if it can't be. */
export function routeOf(entry: ProviderEntry): Route {
  if (entry.route) return entry.route;
  throw new XdevError(
    "no-model",
    `provider "${entry.name}" can't be used: ${entry.reason ?? "it is not configured"}`,
  );
}
