/**
 * The model layer: which model a run talks to, and how. Light to import; what a choice needs is loaded when it is made,
 * and a provider's SDK with its first request.
 */
import type { StreamFn } from "@earendil-works/pi-agent-core";
import type { Api, Model } from "@earendil-works/pi-ai";
import type { Sources } from "./choose.ts";
import type { FetchPolicy } from "./fetch.ts";
import type { LocalServer } from "./local.ts";
import type { ProviderSource } from "./provider.ts";
import type { RegisteredProvider } from "./registered.ts";

export interface ResolvedModel {
  model: Model<Api>;
  /** Resolves the key itself. Never rejects: a failure is a message with `stopReason` "error" and a text for the user. */
  stream: StreamFn;
  /** What of a script was not played, for the user; undefined if nothing is left. Only a replay has it. */
  leftOver?(): string | undefined;
  /** Loads the protocol's code now rather than with the first request. Never rejects. */
  preload(): Promise<void>;
}

export interface ModelOptions {
  dataDir: string;
  /** `provider/id`, an id alone when only one provider has it, or `replay:FILE`. Default: see `resolveModel`. */
  spec?: string;
  /** Where keys and `${NAME}` come from; the process's own environment is not read. */
  env: Record<string, string | undefined>;
  /** What a replay file's path is relative to. Nothing else in it is read. */
  cwd: string;
  signal?: AbortSignal;
  /** Refuses every provider that is not on a loopback address. */
  offline?: boolean;
  /** Retries and limits; see `FetchPolicy` for the defaults. */
  tuning?: Partial<FetchPolicy>;
  /** Providers of extensions; those of models.yml go first. */
  registered?: readonly RegisteredProvider[];
  /** The local servers to look for; default `LOCAL_SERVERS`. */
  localServers?: readonly LocalServer[];
}

export interface ListedModel {
  id: string;
  name: string;
  /** In tokens. */
  contextWindow: number;
  /** Of one answer, in tokens. */
  maxTokens: number;
  reasoning: boolean;
  input: readonly string[];
  /** US dollars for a million tokens. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
}

export interface ListedProvider {
  name: string;
  source: ProviderSource;
  /** The extension that registered it, or changes it. */
  extension?: string;
  usable: boolean;
  /** Why it is not usable: names the environment variables, or what the local port answered. */
  reason?: string;
  /** Empty for a built-in provider that is not usable. */
  models: ListedModel[];
}

export interface ModelListing {
  /** The path of models.yml, whether or not it exists. */
  file: string;
  fileExists: boolean;
  /** What a run without `--model` would use, as `provider/id`. */
  chosen?: string;
  providers: ListedProvider[];
}

/**
 * The model of a run. Without `spec`: models.yml's `defaultModel`, else its first usable model, else a built-in provider
 * whose key is set, else a model server on this machine.
 *
 * Throws XdevError with code `no-model`, `unknown-model`, `bad-models-file` or `bad-replay-file`: exit status 2.
 */
export async function resolveModel(options: ModelOptions): Promise<ResolvedModel> {
  const { spec } = options;
  if (spec?.startsWith("replay:")) {
    const { resolveReplay } = await import("./replay.ts");
    return resolveReplay(spec.slice("replay:".length), options.cwd);
  }
  const [sources, { chooseDefault, chooseNamed }, { routeStream }] = await Promise.all([
    load(options),
    import("./choose.ts"),
    import("./stream.ts"),
  ]);
  const { model, route } = spec ? await chooseNamed(spec, sources) : await chooseDefault(sources);
  return {
    model,
    stream: routeStream(route, options.tuning),
    preload: async () => {
      const { apiName, loadApi } = await import("./api.ts");
      const api = apiName(model.api);
      if (api) await loadApi(api).catch(() => {});
    },
  };
}

/** What is usable, and why the rest is not. Throws XdevError `bad-models-file`. */
export async function listModels(options: Omit<ModelOptions, "spec">): Promise<ModelListing> {
  const [sources, { allProviders, chooseDefault }] = await Promise.all([
    load(options),
    import("./choose.ts"),
  ]);
  const providers = await allProviders(sources);
  const usable = providers.some((entry) => entry.route);
  const choice = usable ? await chooseDefault(sources).catch(() => undefined) : undefined;
  return {
    file: sources.file.path,
    fileExists: sources.file.exists,
    ...(choice && { chosen: `${choice.model.provider}/${choice.model.id}` }),
    providers: providers.map(({ name, source, extension, route, reason, models }) => ({
      name,
      source,
      ...(extension !== undefined && { extension }),
      usable: route !== undefined,
      ...(reason !== undefined && { reason }),
      models: models.map(describe),
    })),
  };
}

/** The models of every provider that can be used, as requests need them. Throws XdevError `bad-models-file`. */
export async function usableModels(options: Omit<ModelOptions, "spec">): Promise<Model<Api>[]> {
  const [sources, { allProviders }] = await Promise.all([load(options), import("./choose.ts")]);
  const providers = await allProviders(sources);
  return providers.flatMap(({ route, models }) => (route ? [...models] : []));
}

export interface ModelsOfProviders {
  models: Model<Api>[];
  providers: NamedProvider[];
}

export interface NamedProvider {
  name: string;
  usable: boolean;
  /** Its key comes from a login. */
  usesLogin?: boolean;
}

/**
 * The models of every provider, but of a built-in one only if it can be used: the catalogue of such a one comes when it is the
 * `provider` that is asked for. Throws XdevError `bad-models-file`.
 */
export async function allModels(
  options: Omit<ModelOptions, "spec">,
  provider?: string,
): Promise<ModelsOfProviders> {
  const [sources, { allProviders, modelsOf }] = await Promise.all([load(options), import("./choose.ts")]);
  const entries = await allProviders(sources);
  return {
    models:
      provider === undefined
        ? entries.flatMap(({ models }) => [...models])
        : [...(await modelsOf(provider, entries))],
    providers: entries.map(({ name, route, usesLogin = false }) => ({
      name,
      usable: route !== undefined,
      ...(usesLogin ? { usesLogin } : {}),
    })),
  };
}

async function load(options: Omit<ModelOptions, "spec">): Promise<Sources> {
  const { loadModelsFile } = await import("./file.ts");
  const { env, offline, signal, localServers, registered = [] } = options;
  return { file: await loadModelsFile(options.dataDir), env, offline, signal, localServers, registered };
}

function describe(model: Model<Api>): ListedModel {
  const { id, name, contextWindow, maxTokens, reasoning, input, cost } = model;
  const { input: read, output, cacheRead, cacheWrite } = cost;
  return {
    id,
    name,
    contextWindow,
    maxTokens,
    reasoning,
    input,
    cost: { input: read, output, cacheRead, cacheWrite },
  };
}
