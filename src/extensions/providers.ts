/**
 * The model providers that extensions register: who may, under which names, and what of each is asked of the extension behind it. A
 * provider reads the conversation, so the user must have allowed it; a name that stands for something already is not given away.
 */
import type { Rights } from "../../sandbox/broker/broker.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { addSecretOf, log } from "../base/log.ts";
import { withTimeout } from "../base/time.ts";
import type { CredentialStore, Credentials, Owner } from "../models/credentials.ts";
import { clean } from "../models/failure.ts";
import {
  makeModel,
  type ProviderBackend,
  parseModels,
  parseRegistered,
  type RegisteredConfig,
  type RegisteredModel,
  type RegisteredProvider,
} from "../models/registered.ts";
import type { Extension } from "./extension.ts";
import type { ActionFrame } from "./frame.ts";
import { guestEvents } from "./provider-stream.ts";

/** How long an extension may take to renew credentials, or to make a key of them, in ms. */
const AUTH_MS = 20_000;
/** The longest login, in ms. While the user is asked, no clock runs. */
const LOGIN_MS = 15 * 60_000;
const MAX_KEY = 64 * 1024;
/** So many providers one extension may have, and so much it may ask for while extensions load. */
const MAX_PROVIDERS = 50;
const MAX_EARLY = 200;
/** So much the user is told of one extension's providers. */
const MAX_NOTICES = 20;

export interface ProviderDeskOptions {
  /** Where the providers are kept, by name. */
  providers: Map<string, RegisteredProvider>;
  credentials: CredentialStore;
  /** Whether the settings let an extension of this name of the user's be a provider. */
  isAllowed(name: string): boolean;
  /** Whether the user may be asked for what a provider needs, when it is needed. */
  mayAsk: boolean;
  /** Tells the user something once. */
  notice(text: string): void;
}

interface Entry {
  extension: Extension;
  config: RegisteredConfig;
  /** What it made of its models for the user's login. */
  models: RegisteredModel[] | undefined;
}

/** What `xdev login` needs to know of a provider. */
export interface LoginProvider {
  name: string;
  /** What its author calls the way to log in. */
  label: string;
  extension: Extension;
}

export class ProviderDesk {
  readonly #options: ProviderDeskOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #changing = new Set<Promise<void>>();
  readonly #renewing = new Map<string, Promise<Credentials | undefined>>();
  /** What the user was told, by the paths of extensions. */
  readonly #told = new Map<string, Set<string>>();
  /** What was registered while extensions load, all at once: of two that want one name, the order of the chain decides. */
  #early: { extension: Extension; act: () => void }[] | undefined = [];

  constructor(options: ProviderDeskOptions) {
    this.#options = options;
  }

  /** `register_provider` and `unregister_provider` (§6). `rights` are those of a module. */
  onAction(
    extension: Extension,
    { action, payload }: Pick<ActionFrame, "action" | "payload">,
    rights: Rights | undefined,
    isProjects: boolean,
  ): void {
    const act = () => this.#act(extension, action, payload, rights, isProjects);
    if (!this.#early) return act();
    if (this.#early.filter((one) => one.extension === extension).length < MAX_EARLY) {
      this.#early.push({ extension, act });
    }
  }

  /**
   * All extensions have loaded, in this order: what they registered counts from here on. Resolves when those that the user is logged in
   * to have said what models that gives.
   */
  async begin(extensions: readonly Extension[]): Promise<void> {
    const early = this.#early ?? [];
    this.#early = undefined;
    const place = ({ extension }: { extension: Extension }) => extensions.indexOf(extension);
    for (const { act } of early.sort((a, b) => place(a) - place(b))) act();
    await Promise.all(this.#changing);
  }

  /** An extension of this name is not there any more: neither are its providers. */
  left(name: string): void {
    for (const [provider, { extension }] of this.#entries) {
      if (extension.name === name) this.#forget(provider);
    }
  }

  #act(
    extension: Extension,
    action: string,
    payload: unknown,
    rights: Rights | undefined,
    isProjects: boolean,
  ): void {
    if (action === "unregister_provider") return this.#unregister(extension, payload);
    const { isAllowed } = this.#options;
    const notice = (text: string) => this.#notice(extension, text);
    const { name } = extension;
    if (!(!isProjects && isAllowed(name)) && rights?.has({ kind: "provider" }) !== true) {
      return notice(
        `extension ${name} wants to register a model provider, which could read your conversation: to allow it, add it to extensionHost.allowProviders in config.yml, or (a module) give it the permission provider: xdev ext grant`,
      );
    }
    try {
      this.#register(extension, payload, rights);
    } catch (error) {
      notice(`extension ${name} registers no provider: ${errorText(error)}`);
    }
  }

  /** The providers that one can log in to. */
  logins(): LoginProvider[] {
    return [...this.#entries].flatMap(([name, { extension, config }]) =>
      config.oauth ? [{ name, label: config.oauth.name, extension }] : [],
    );
  }

  /**
   * Has the extension log in, and keeps what it gives. Rejects with a text for the user when that fails, and when the signal aborts;
   * what the extension asks meanwhile is `CallServices.loginQuestion`'s.
   */
  async login({ name, extension }: LoginProvider, signal: AbortSignal): Promise<void> {
    const result = await ask(extension, { step: "login", provider: name }, LOGIN_MS, signal);
    const { parseCredentials } = await import("../models/credentials.ts");
    let credentials: Credentials;
    try {
      credentials = parseCredentials(result, extension);
    } catch (error) {
      throw new XdevError("login-failed", `extension ${extension.name} ${errorText(error)}`);
    }
    await this.#options.credentials.write(ownerOf(name, extension), credentials);
    const entry = this.#entries.get(name);
    if (entry?.config.oauth?.changesModels) this.#changeModels(entry);
    await Promise.all(this.#changing);
  }

  /** Each thing once, and no more than the user can read. */
  #notice(extension: Extension, text: string): void {
    const told = this.#told.get(extension.path) ?? new Set();
    this.#told.set(extension.path, told);
    if (told.has(text) || told.size >= MAX_NOTICES) return;
    told.add(text);
    this.#options.notice(text);
  }

  #register(extension: Extension, payload: unknown, rights: Rights | undefined): void {
    const { providers } = this.#options;
    const { config, isOverride } = parseRegistered(payload, extension.kind === "worker");
    const { name } = config;
    const before = this.#entries.get(name);
    if (before && before.extension.path !== extension.path) {
      throw new Error(
        `the name ${name} is taken by extension ${before.extension.name}, which registered it first`,
      );
    }
    const own = [...this.#entries.values()].filter((one) => one.extension.path === extension.path);
    if (!before && own.length >= MAX_PROVIDERS) {
      throw new Error(`an extension may have ${MAX_PROVIDERS} providers`);
    }
    if (isOverride && (before?.config.baseUrl !== config.baseUrl || !before)) {
      const what = config.baseUrl == null ? "what is sent to it" : `its address, to ${clean(config.baseUrl)}`;
      this.#notice(extension, `extension ${extension.name} changes the provider ${name}: ${what}`);
    }
    const entry: Entry = { extension, config, models: undefined };
    this.#entries.set(name, entry);
    providers.set(name, { name, config, isOverride, backend: this.#backend(entry, rights) });
    if (config.oauth?.changesModels) this.#changeModels(entry);
  }

  /**
   * Asks what models a login gives. The answer is kept: who lists models may be the extension itself, and then it waits and could
   * answer nothing.
   */
  #changeModels(entry: Entry): void {
    const { extension, config } = entry;
    const change = async (): Promise<void> => {
      try {
        const credentials = await this.#options.credentials.read(ownerOf(config.name, extension));
        if (!credentials) return;
        const models = config.models?.map((model) => makeModel(config.name, config, model));
        const step = { step: "models", provider: config.name, credentials, models };
        const changed = parseModels(await ask(extension, step, AUTH_MS, undefined));
        if (changed) entry.models = changed;
      } catch (error) {
        log.debug(`extension ${extension.name}: oauth.modifyModels: ${errorText(error)}`);
      }
    };
    const changing = change().finally(() => this.#changing.delete(changing));
    this.#changing.add(changing);
  }

  #unregister(extension: Extension, payload: unknown): void {
    const { name } = (payload ?? {}) as { name?: unknown };
    if (typeof name !== "string" || this.#entries.get(name)?.extension.path !== extension.path) return;
    this.#forget(name);
  }

  #forget(provider: string): void {
    this.#entries.delete(provider);
    this.#options.providers.delete(provider);
  }

  #backend(entry: Entry, rights: Rights | undefined): ProviderBackend {
    const { extension, config } = entry;
    const { name } = config;
    const isModule = extension.kind === "worker";
    return {
      extension: extension.name,
      mayRead: async (variable) => {
        const request = { kind: "env", name: variable } as const;
        if (!rights) return false;
        if (rights.has(request)) return true;
        if (!this.#options.mayAsk) return false;
        return rights.demand(request).then(
          () => true,
          () => false,
        );
      },
      ...(isModule && config.hasStream
        ? {
            stream: (model, context, options, idleMs) =>
              guestEvents({
                ...{ provider: name, model, context, options, idleMs },
                extension: this.#lifeOf(extension, name),
              }),
          }
        : {}),
      ...(isModule && config.oauth ? { login: this.#loginOf(entry) } : {}),
    };
  }

  /**
   * The extension as it is there now: a reload may have made it anew. The key of a request is from this extension, so whoever else has
   * taken the name since gets none of it.
   */
  #lifeOf(extension: Extension, provider: string): Extension {
    const now = this.#entries.get(provider)?.extension;
    return now?.path === extension.path ? now : extension;
  }

  #loginOf(entry: Entry): NonNullable<ProviderBackend["login"]> {
    const { extension, config } = entry;
    const { name } = config;
    const { credentials: store } = this.#options;
    const owner = ownerOf(name, extension);
    return {
      isLoggedIn: async () => (await store.read(owner)) !== undefined,
      key: async (signal) => {
        const credentials = await this.#fresh(owner, extension);
        if (!credentials) return undefined;
        const key = await ask(extension, { step: "key", provider: name, credentials }, AUTH_MS, signal);
        if (typeof key !== "string" || key === "" || key.length > MAX_KEY || /[\r\n\0]/.test(key)) {
          throw new XdevError("no-model", `extension ${extension.name} made no key of its credentials`);
        }
        addSecretOf(extension.path, key);
        return key;
      },
      changedModels: () => entry.models,
    };
  }

  /** Credentials that have not expired. Of several requests at a time, one has them renewed. */
  #fresh(owner: Owner, extension: Extension): Promise<Credentials | undefined> {
    const key = JSON.stringify([owner.provider, owner.path]);
    const known = this.#renewing.get(key);
    if (known) return known;
    const renewed = this.#options.credentials
      .fresh(owner, async (expired) => {
        try {
          const { parseCredentials } = await import("../models/credentials.ts");
          const step = { step: "refresh", provider: owner.provider, credentials: expired };
          const got = await ask(extension, step, AUTH_MS, undefined);
          // A server that gives no other means the old one.
          return parseCredentials({ refresh: expired.refresh, ...(got as object | null) }, owner);
        } catch (error) {
          throw new XdevError(
            "no-model",
            `the login has expired and could not be renewed: ${clean(errorText(error))}. Log in again: xdev login ${owner.provider}`,
          );
        }
      })
      .finally(() => this.#renewing.delete(key));
    this.#renewing.set(key, renewed);
    return renewed;
  }
}

function ownerOf(provider: string, { name, path }: Extension): Owner {
  return { provider, extension: name, path };
}

/** One `provider_auth` request. What takes longer is told to end, and is not waited for. */
async function ask(
  extension: Extension,
  payload: Record<string, unknown>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const late = new AbortController();
  const isLogin = payload.step === "login";
  const asked = extension.request("provider_auth", payload, {
    // Once it was told to end it has an event's time to say so.
    timeoutMs: ms + extension.limits.eventTimeoutMs,
    signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
  });
  // The user may take his time: the request's own clock stands still while he is asked.
  const work = isLogin
    ? asked
    : withTimeout(asked, ms, `${String(payload.step)} of extension ${extension.name}`);
  try {
    const reply = await work;
    if (reply.error == null) return reply.result;
    throw new XdevError("login-failed", `extension ${extension.name}: ${clean(reply.error || "it failed")}`);
  } finally {
    late.abort();
    asked.catch(() => {});
  }
}
