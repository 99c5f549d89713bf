/**
 * Providers of models.yml: the file's entry and the environment, made into a route. Two kinds: one that lists its models,
 * and a built-in one that keeps its catalogue and gets another key, address or headers.
 */
import type { Api, Model } from "@earendil-works/pi-ai";
import { addSecret } from "../base/log.ts";
import { type ApiName, apiName, DEFAULT_API, loadApi } from "./api.ts";
import { builtinAuth, isBuiltin, keyVariables, loadBuiltin, missingKey } from "./builtin.ts";
import { type Env, expand } from "./expand.ts";
import { NO_KEY } from "./fetch.ts";
import type { LoadedFile } from "./file.ts";
import { isLoopbackUrl, urlProblem } from "./net.ts";
import type { ProviderEntry } from "./provider.ts";
import type { ModelConfig, ProviderConfig } from "./schema.ts";
import type { Route } from "./stream.ts";

export interface CustomContext {
  file: LoadedFile;
  env: Env;
  offline?: boolean | undefined;
}

/** A provider of models.yml. Loads pi-ai's catalogue only for a built-in one that leaves something to it. */
export async function customProvider(
  name: string,
  config: ProviderConfig,
  context: CustomContext,
): Promise<ProviderEntry> {
  const values = readValues(name, config, context);
  if (config.models === undefined) return overriddenBuiltin(name, values, context);
  const first =
    isBuiltin(name) && !(values.baseUrl && config.api) ? (await loadBuiltin(name)).models[0] : undefined;
  const api = apiName(config.api ?? first?.api ?? DEFAULT_API) ?? DEFAULT_API;
  const baseUrl = normalizeBaseUrl(values.baseUrl ?? first?.baseUrl ?? "", api);
  const models = config.models.map((model) => makeModel(name, api, baseUrl, config, model));
  const entry: ProviderEntry = { name, source: "models.yml", models };
  const variable = isBuiltin(name) ? keyVariables(name).find((one) => context.env[one]) : undefined;
  const apiKey = values.apiKey ?? (variable && context.env[variable]);
  addSecret(apiKey);
  const keyless = apiKey === undefined || apiKey === "none";
  const reason =
    values.problem ??
    addressProblem(baseUrl, context) ??
    (apiKey === undefined ? keyProblem(name, baseUrl, values) : undefined);
  if (reason) return { ...entry, reason };
  const route: Route = {
    party: {
      provider: name,
      baseUrl,
      credential: variable && !values.apiKey ? variable : credentialOf(name, context),
    },
    load: async () => (await loadApi(api)).streamSimple,
    auth: () => ({ apiKey: keyless ? NO_KEY : apiKey, headers: values.headers }),
  };
  return { ...entry, route };
}

async function overriddenBuiltin(
  name: string,
  values: Values,
  context: CustomContext,
): Promise<ProviderEntry> {
  const { provider, models: catalogue, preferred } = await loadBuiltin(name);
  const models = catalogue.map((model) => (values.baseUrl ? { ...model, baseUrl: values.baseUrl } : model));
  const entry: ProviderEntry = { name, source: "models.yml", models, ...(preferred && { preferred }) };
  const baseUrl = models[0]?.baseUrl ?? "";
  const apiKey = values.apiKey;
  addSecret(apiKey);
  const reason =
    values.problem ??
    addressProblem(baseUrl, context) ??
    (apiKey ? undefined : missingKey(name, context.env));
  if (reason) return { ...entry, reason };
  const credential = apiKey ? credentialOf(name, context) : keyVariables(name).join(" or ");
  const route: Route = {
    party: { provider: name, baseUrl, credential },
    load: async () => (model, request, options) => provider.streamSimple(model, request, options),
    auth: async (signal) => {
      const auth = await builtinAuth(name, provider, context.env, apiKey, signal);
      return { ...auth, headers: { ...auth.headers, ...values.headers } };
    },
  };
  return { ...entry, route };
}

interface Values {
  apiKey?: string;
  baseUrl?: string;
  headers: Record<string, string>;
  /** The first variable that is not set, and where the file asks for it. */
  problem?: string;
}

const SECRET_HEADER = /auth|key|token|secret|cookie/i;

function readValues(name: string, config: ProviderConfig, { file, env }: CustomContext): Values {
  const values: Values = { headers: {} };
  const get = (text: string, ...path: string[]): string => {
    const { value, missing } = expand(text, env);
    const [variable] = missing;
    if (variable !== undefined) {
      const line = file.lineOf(["providers", name, ...path]);
      const where = ["providers", name, ...path].join(".");
      values.problem ??= `the environment variable ${variable} is not set (${where}, ${file.path}:${line})`;
    }
    return value;
  };
  if (config.apiKey !== undefined) values.apiKey = get(config.apiKey, "apiKey");
  if (config.baseUrl !== undefined) values.baseUrl = get(config.baseUrl, "baseUrl");
  for (const [header, text] of Object.entries(config.headers ?? {})) {
    const value = get(text, "headers", header);
    values.headers[header] = value;
    if (!SECRET_HEADER.test(header)) continue;
    addSecret(value);
    addSecret(value.replace(/^\w+\s+/, ""));
  }
  return values;
}

function addressProblem(baseUrl: string, { offline }: CustomContext): string | undefined {
  const problem = urlProblem(baseUrl);
  if (problem) return `baseUrl: ${problem}`;
  return offline && !isLoopbackUrl(baseUrl)
    ? `offline, and ${new URL(baseUrl).host} is not on this machine`
    : undefined;
}

function keyProblem(name: string, baseUrl: string, { headers }: Values): string | undefined {
  if (isLoopbackUrl(baseUrl) || Object.keys(headers).some((header) => SECRET_HEADER.test(header)))
    return undefined;
  const variables = isBuiltin(name) ? ` and ${keyVariables(name).join(" or ")} is not set` : "";
  return `it has no apiKey${variables} (write "none" for a server that wants none)`;
}

function credentialOf(name: string, { file }: CustomContext): string {
  return `providers.${name}.apiKey in ${file.path}`;
}

/** Without a slash at the end; and Anthropic's SDK adds the `/v1` that people write by habit. */
function normalizeBaseUrl(text: string, api: ApiName): string {
  const url = text.replace(/\/+$/, "");
  return api === "anthropic-messages" ? url.replace(/\/v1$/, "") : url;
}

function makeModel(
  provider: string,
  api: ApiName,
  baseUrl: string,
  config: ProviderConfig,
  model: ModelConfig,
): Model<Api> {
  const { compat, name, ...rest } = model;
  const merged = { ...config.compat, ...compat };
  const made: Model<Api> = { ...rest, name: name ?? model.id, api, provider, baseUrl };
  if (Object.keys(merged).length > 0) Object.assign(made, { compat: merged });
  return made;
}
