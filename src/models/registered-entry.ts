/** A provider that an extension registered, ready to use or with the reason why it is not (registered.ts). */
import type { Api, Model } from "@earendil-works/pi-ai";
import { XdevError } from "../base/errors.ts";
import { addSecret, addSecretOf } from "../base/log.ts";
import { apiName, DEFAULT_API, loadApi } from "./api.ts";
import { builtinAuth, keyVariables, loadBuiltin, missingKey } from "./builtin.ts";
import type { Env } from "./expand.ts";
import { NO_KEY } from "./fetch.ts";
import { isLoopbackUrl } from "./net.ts";
import type { ProviderEntry } from "./provider.ts";
import { makeModel, type RegisteredProvider } from "./registered.ts";
import type { RequestAuth, Route } from "./stream.ts";

interface Context {
  env: Env;
  offline?: boolean | undefined;
}

/** One that brings its models. What its key is may be asked of its extension with every request. */
export async function registeredEntry(
  provider: RegisteredProvider,
  { env, offline }: Context,
): Promise<ProviderEntry> {
  const { name, config, backend } = provider;
  const models = modelsOf(provider);
  // What is wrong with the user's logins is wrong with this provider, and with no other.
  const logins = await Promise.resolve(backend.login?.isLoggedIn() ?? false).catch((error: unknown) => {
    if (error instanceof XdevError) return error.message;
    throw error;
  });
  const usesLogin = logins === true;
  const entry: ProviderEntry = { name, source: "extension", extension: backend.extension, models, usesLogin };
  // A stream of its own connects to nothing but what the extension was granted.
  const isElsewhere = !backend.stream && models.some(({ baseUrl }) => !isLoopbackUrl(baseUrl));
  const reason =
    offline && isElsewhere
      ? "offline, and it is not on this machine"
      : typeof logins === "string"
        ? logins
        : await keyProblem(provider, usesLogin, env);
  if (reason) return { ...entry, reason };
  const { stream } = backend;
  const route: Route = {
    party: {
      provider: name,
      baseUrl: models[0]?.baseUrl ?? "",
      credential: `what extension ${backend.extension} gives for it${config.oauth ? `, or xdev login ${name}` : ""}`,
    },
    isPaced: stream !== undefined,
    load: async () => {
      if (stream) {
        return (model, context, options, { idleMs }) => stream(model, context, options, idleMs);
      }
      return async function* (model, context, options) {
        const api = apiName(model.api) ?? DEFAULT_API;
        yield* (await loadApi(api)).streamSimple(model, context, options);
      };
    },
    auth: (signal) => authOf(provider, env, signal),
  };
  return { ...entry, route };
}

function modelsOf({ name, config, backend }: RegisteredProvider): Model<Api>[] {
  const models = backend.login?.changedModels() ?? config.models ?? [];
  return models.map((model) => makeModel(name, config, model));
}

/** Why there is no key for it, or undefined: there is one, or it wants none. */
async function keyProblem(
  provider: RegisteredProvider,
  usesLogin: boolean,
  env: Env,
): Promise<string | undefined> {
  const { name, config, backend } = provider;
  if (usesLogin) return undefined;
  const login = config.oauth ? `nobody is logged in (xdev login ${name})` : undefined;
  if (config.apiKey != null) {
    const { problem } = await resolve(config.apiKey, provider, env);
    return problem && [problem, login].filter(Boolean).join("; ");
  }
  if (login) return login;
  const hasHeader = Object.keys(config.headers ?? {}).some((header) => /auth|key|token|cookie/i.test(header));
  if (config.hasStream || hasHeader || isLoopbackUrl(config.baseUrl ?? "")) return undefined;
  return `extension ${backend.extension} gives no apiKey for it`;
}

async function authOf(
  provider: RegisteredProvider,
  env: Env,
  signal: AbortSignal | undefined,
): Promise<RequestAuth> {
  const { config, backend } = provider;
  const given = async (): Promise<string | undefined> =>
    config.apiKey == null ? undefined : orThrow(await resolve(config.apiKey, provider, env));
  const apiKey = (await backend.login?.key(signal)) ?? (await given());
  addSecretOf(backend.extension, apiKey);
  const headers = await headersOf(provider, env);
  if (config.authHeader && apiKey !== undefined) headers.Authorization = `Bearer ${apiKey}`;
  if (backend.stream) return { ...(apiKey === undefined ? {} : { apiKey }), headers };
  return { apiKey: apiKey === undefined || apiKey === "none" ? NO_KEY : apiKey, headers };
}

async function headersOf(provider: RegisteredProvider, env: Env): Promise<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [header, text] of Object.entries(provider.config.headers ?? {})) {
    headers[header] = orThrow(await resolve(text, provider, env, false));
  }
  return headers;
}

interface Resolved {
  value: string;
  problem?: string;
}

function orThrow({ value, problem }: Resolved): string {
  if (problem !== undefined) throw new XdevError("no-model", problem);
  return value;
}

const REFERENCE = /\$\{([A-Za-z_]\w*)\}|^\$([A-Za-z_]\w*)$/g;

/**
 * The value of `$NAME`, of `${NAME}` in a text, or, for a key, of a name in capitals that is set. The variable must be one that the
 * extension may read.
 */
async function resolve(
  text: string,
  { backend }: RegisteredProvider,
  env: Env,
  isKey = true,
): Promise<Resolved> {
  const isBare = isKey && /^[A-Z][A-Z0-9_]*$/.test(text) && env[text] !== undefined;
  const source = isBare ? `$${text}` : text;
  let value = "";
  let at = 0;
  for (const match of source.matchAll(REFERENCE)) {
    const variable = match[1] ?? match[2] ?? "";
    const found = env[variable];
    if (!found) return { value: "", problem: `the environment variable ${variable} is not set` };
    if (!(await backend.mayRead(variable))) {
      return {
        value: "",
        problem: `extension ${backend.extension} may not read ${variable}: xdev ext grant ${backend.extension} --env=${variable}`,
      };
    }
    addSecret(found);
    value += source.slice(at, match.index) + found;
    at = match.index + match[0].length;
  }
  value += source.slice(at);
  if (isKey) addSecretOf(backend.extension, value);
  return { value };
}

/**
 * A built-in provider that an extension gives another address, headers or key. The user's own key goes to the provider's own address
 * alone: whoever wants it elsewhere says so in models.yml, which goes before all this.
 */
export async function overriddenEntry(
  override: RegisteredProvider,
  { env, offline }: Context,
): Promise<ProviderEntry> {
  const { name, config, backend } = override;
  const { provider, models: catalogue, preferred } = await loadBuiltin(name);
  const baseUrl = config.baseUrl?.replace(/\/+$/, "");
  const models = baseUrl === undefined ? catalogue : catalogue.map((model) => ({ ...model, baseUrl }));
  const entry: ProviderEntry = {
    name,
    source: "built-in",
    extension: backend.extension,
    models,
    ...(preferred && { preferred }),
  };
  const address = models[0]?.baseUrl ?? "";
  const ownKey = config.apiKey == null ? undefined : await resolve(config.apiKey, override, env);
  const isMoved = baseUrl !== undefined && models.some((_, at) => catalogue[at]?.baseUrl !== baseUrl);
  const reason =
    ownKey?.problem ??
    (offline && !isLoopbackUrl(address) ? "offline, and it is not on this machine" : undefined) ??
    (ownKey ? undefined : isMoved ? movedProblem(override, address) : missingKey(name, env));
  if (reason) return { ...entry, reason };
  return {
    ...entry,
    route: {
      party: {
        provider: name,
        baseUrl: address,
        credential: ownKey
          ? `what extension ${backend.extension} gives for it`
          : keyVariables(name).join(" or "),
      },
      load: async () => (model, request, options) => provider.streamSimple(model, request, options),
      auth: async (signal) => {
        // With a key of the extension's own goes nothing of the user's, settings that are beside his key included.
        const auth = await builtinAuth(name, provider, ownKey ? {} : env, ownKey?.value, signal);
        const headers: RequestAuth["headers"] = { ...auth.headers, ...(await headersOf(override, env)) };
        if (config.authHeader && auth.apiKey !== undefined) headers.Authorization = `Bearer ${auth.apiKey}`;
        return { ...auth, headers, ...(baseUrl === undefined ? {} : { baseUrl }) };
      },
    },
  };
}

function movedProblem({ name, backend }: RegisteredProvider, address: string): string {
  return `extension ${backend.extension} moves it to ${address}, and your key is not sent there without your word: give that address as providers.${name}.baseUrl in models.yml, or do without the extension`;
}
