/** Which model a run uses: by name, or by the order of preference when nobody named one. */
import type { Api, Model } from "@earendil-works/pi-ai";
import { XdevError } from "../base/errors.ts";
import { didYouMean } from "../config/suggest.ts";
import { BUILTIN_NAMES, builtinAuth, isBuiltin, keyVariables, loadBuiltin, missingKey } from "./builtin.ts";
import { customProvider } from "./custom.ts";
import type { Env } from "./expand.ts";
import type { LoadedFile } from "./file.ts";
import { findLocal, LOCAL_SERVERS, type LocalServer } from "./local.ts";
import { type ProviderEntry, routeOf } from "./provider.ts";
import type { RegisteredProvider } from "./registered.ts";
import type { Route } from "./stream.ts";

export interface Sources {
  file: LoadedFile;
  env: Env;
  offline?: boolean | undefined;
  signal?: AbortSignal | undefined;
  localServers?: readonly LocalServer[] | undefined;
  /** Providers of extensions; those of models.yml go first. */
  registered?: readonly RegisteredProvider[] | undefined;
}

export interface Choice {
  model: Model<Api>;
  route: Route;
}

/** The model that `spec` names: `provider/id`, or an id alone when only one usable provider has it. */
export async function chooseNamed(spec: string, sources: Sources): Promise<Choice> {
  const slash = spec.indexOf("/");
  const name = slash > 0 ? spec.slice(0, slash) : "";
  const provider = name ? await providerNamed(name, sources) : undefined;
  if (provider) {
    const id = spec.slice(slash + 1);
    const model = provider.models.find((one) => one.id === id);
    if (model) return { model, route: routeOf(provider) };
    // An unusable provider may have no models to look in, so why it is unusable comes first.
    routeOf(provider);
    const other = await findBare(spec, sources);
    if (other) return other;
    throw unknown(
      `provider "${name}" has no model "${id}"`,
      id,
      provider.models.map((one) => one.id),
      sources,
    );
  }
  const found = await findBare(spec, sources);
  if (found) return found;
  if (name) throw unknown(`there is no provider "${name}"`, name, providerNames(sources), sources);
  throw unknown(`no usable provider has a model "${spec}"`, spec, await usableIds(sources), sources);
}

/** `defaultModel`, else models.yml's first, else a built-in provider whose key is set, else a local server, else an extension's. */
export async function chooseDefault(sources: Sources): Promise<Choice> {
  const { file } = sources;
  const wanted = file.config.defaultModel;
  if (wanted !== undefined) {
    try {
      return await chooseNamed(wanted, sources);
    } catch (error) {
      if (!(error instanceof XdevError)) throw error;
      const where = `${file.path}:${file.lineOf(["defaultModel"])}: defaultModel: `;
      throw new XdevError(error.code, where + error.message, {
        ...(error.hint && { hint: error.hint }),
        cause: error,
      });
    }
  }
  const own = await customEntries(sources);
  const usable = own.find((entry) => entry.route);
  if (usable) return preferredOf(usable);
  // Who wrote the file wants its providers, and to know what they lack; not to pay somewhere else.
  if (own[0]) {
    const reasons = own.map((entry) => `provider "${entry.name}" can't be used: ${entry.reason}`);
    throw new XdevError("no-model", reasons.join("\n"), {
      hint: "Name another model with --model provider/id.",
    });
  }
  const builtin = BUILTIN_NAMES.find((name) => builtinProblem(name, sources) === undefined);
  if (builtin !== undefined) return preferredOf(await builtinEntry(builtin, sources));
  const local = await findLocal(sources.localServers, sources.signal);
  const found = local.find((entry) => entry.route);
  if (found) return preferredOf(found);
  // Nobody chose these for what he says by merely having installed an extension.
  const brought = await registeredEntries(sources);
  const last = brought.find((entry) => entry.route);
  if (last) return preferredOf(last);
  throw nothingUsable(sources, [...brought, ...local]);
}

/** Every provider there is. Local servers are asked only when nothing else is usable. */
export async function allProviders(sources: Sources): Promise<ProviderEntry[]> {
  const own = await customEntries(sources);
  const names = BUILTIN_NAMES.filter((name) => !Object.hasOwn(sources.file.config.providers ?? {}, name));
  const builtin = await Promise.all(names.map((name) => builtinEntry(name, sources)));
  const known = [...own, ...(await registeredEntries(sources)), ...builtin];
  if (known.some((entry) => entry.route)) return known;
  return [...known, ...(await findLocal(sources.localServers, sources.signal))];
}

/** The models of one of these providers, also of a built-in one that has no key. */
export async function modelsOf(
  name: string,
  entries: readonly ProviderEntry[],
): Promise<readonly Model<Api>[]> {
  const entry = entries.find((one) => one.name === name);
  if (!entry || entry.models.length > 0 || entry.source !== "built-in") return entry?.models ?? [];
  return (await loadBuiltin(name)).models;
}

function customEntries(sources: Sources): Promise<ProviderEntry[]> {
  const providers = Object.entries(sources.file.config.providers ?? {});
  return Promise.all(providers.map(([name, config]) => customProvider(name, config, sources)));
}

/** Those of extensions, without what the user has in models.yml under the same name. */
async function registeredEntries(sources: Sources): Promise<ProviderEntry[]> {
  const own = broughtProviders(sources);
  if (own.length === 0) return [];
  const { registeredEntry } = await import("./registered-entry.ts");
  return Promise.all(own.map((provider) => registeredEntry(provider, sources)));
}

function broughtProviders({ registered = [], file }: Sources): RegisteredProvider[] {
  return registered.filter(
    ({ name, isOverride }) => !isOverride && !Object.hasOwn(file.config.providers ?? {}, name),
  );
}

async function providerNamed(name: string, sources: Sources): Promise<ProviderEntry | undefined> {
  const providers = sources.file.config.providers ?? {};
  const config = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (config) return customProvider(name, config, sources);
  const brought = broughtProviders(sources).find((one) => one.name === name);
  if (brought) return (await import("./registered-entry.ts")).registeredEntry(brought, sources);
  if (isBuiltin(name)) return builtinEntry(name, sources);
  const servers = (sources.localServers ?? LOCAL_SERVERS).filter((server) => server.name === name);
  return servers.length > 0 ? (await findLocal(servers, sources.signal))[0] : undefined;
}

/** A model by id alone. The user's own file wins; two providers elsewhere that have it are an error. */
async function findBare(id: string, sources: Sources): Promise<Choice | undefined> {
  const own = matches(await customEntries(sources), id);
  const found = own.length > 0 ? own : matches(await others(sources), id);
  if (found.length > 1) {
    const names = found.map(({ model }) => `${model.provider}/${model.id}`).join(", ");
    throw new XdevError("unknown-model", `"${id}" is a model of several providers: write one of ${names}`);
  }
  return found[0];
}

async function others(sources: Sources): Promise<ProviderEntry[]> {
  const brought = await registeredEntries(sources);
  const names = BUILTIN_NAMES.filter((name) => builtinProblem(name, sources) === undefined);
  if (names.length > 0 || brought.length > 0)
    return [...brought, ...(await Promise.all(names.map((name) => builtinEntry(name, sources))))];
  return Object.keys(sources.file.config.providers ?? {}).length > 0
    ? []
    : findLocal(sources.localServers, sources.signal);
}

function matches(entries: readonly ProviderEntry[], id: string): Choice[] {
  return entries.flatMap(({ route, models }) => {
    const model = models.find((one) => one.id === id);
    return route && model ? [{ model, route }] : [];
  });
}

function preferredOf(entry: ProviderEntry): Choice {
  const model = entry.models.find((one) => one.id === entry.preferred) ?? entry.models[0];
  if (!model) throw new XdevError("no-model", `provider "${entry.name}" has no models`);
  return { model, route: routeOf(entry) };
}

function builtinProblem(name: string, sources: Sources): string | undefined {
  const { env, offline, file } = sources;
  if (Object.hasOwn(file.config.providers ?? {}, name)) return "it is configured in models.yml";
  if (overrideOf(name, sources)?.config.apiKey) return undefined;
  return missingKey(name, env) ?? (offline ? "offline" : undefined);
}

/** What an extension makes of a built-in provider. */
function overrideOf(name: string, { registered = [] }: Sources): RegisteredProvider | undefined {
  return registered.find((one) => one.isOverride && one.name === name);
}

async function builtinEntry(name: string, sources: Sources): Promise<ProviderEntry> {
  const { env, offline } = sources;
  const override = overrideOf(name, sources);
  if (override) return (await import("./registered-entry.ts")).overriddenEntry(override, sources);
  const entry = { name, source: "built-in" as const };
  const reason = missingKey(name, env) ?? (offline ? "offline, and it is not on this machine" : undefined);
  if (reason) return { ...entry, models: [], reason };
  const { provider, models, preferred } = await loadBuiltin(name);
  return {
    ...entry,
    models,
    ...(preferred && { preferred }),
    route: {
      party: {
        provider: name,
        baseUrl: provider.baseUrl ?? models[0]?.baseUrl ?? "",
        credential: keyVariables(name).join(" or "),
      },
      load: async () => (model, context, options) => provider.streamSimple(model, context, options),
      auth: (signal) => builtinAuth(name, provider, env, undefined, signal),
    },
  };
}

function providerNames({ file, registered = [], localServers = LOCAL_SERVERS }: Sources): string[] {
  return [
    ...Object.keys(file.config.providers ?? {}),
    ...registered.map((one) => one.name),
    ...BUILTIN_NAMES,
    ...localServers.map((one) => one.name),
  ];
}

async function usableIds(sources: Sources): Promise<string[]> {
  const entries = [...(await customEntries(sources)), ...(await others(sources))];
  return entries.flatMap((entry) => (entry.route ? entry.models.map((model) => model.id) : []));
}

function unknown(message: string, text: string, candidates: string[], { file }: Sources): XdevError {
  return new XdevError("unknown-model", `${message}.${didYouMean(text, candidates)}`, {
    hint: `\`xdev models\` lists what is usable; others can be added to ${file.path}. If an extension brings it: \`xdev ext list\` says whether that is loaded.`,
  });
}

function nothingUsable({ file, env, offline }: Sources, asked: readonly ProviderEntry[]): XdevError {
  const variables = BUILTIN_NAMES.slice(0, 8).flatMap((name) => keyVariables(name).slice(0, 1));
  const set = BUILTIN_NAMES.filter((name) => missingKey(name, env) === undefined);
  const ignored = offline && set.length > 0 ? `\n- offline: ${set.join(", ")} can't be asked` : "";
  const lines = [
    "there is no model to use:",
    `- ${file.path} ${file.exists ? "has no providers" : "does not exist"}${ignored}`,
    `- none of these environment variables is set: ${variables.join(", ")} (${BUILTIN_NAMES.length - 8} more in \`xdev models\`)`,
    ...asked.map(({ name, source, extension, reason }) =>
      source === "local"
        ? `- 127.0.0.1 and ::1, ${reason}`
        : `- ${name} of extension ${extension}: ${reason}`,
    ),
  ];
  return new XdevError("no-model", lines.join("\n"), {
    hint: `Set one of the variables, start a local server, or list a provider in ${file.path}.`,
  });
}
