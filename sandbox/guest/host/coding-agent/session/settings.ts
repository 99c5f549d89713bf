/**
 * Settings, keys and models by the names that they have in the agent's package. A sandboxed extension has none of the user's: settings
 * are those it gives, keys are kept by the host, and models are `ctx.modelRegistry`'s.
 */

type Values = Record<string, unknown>;

/** What a getter gives where nothing is set. */
const DEFAULTS: Values = {
  SteeringMode: "one-at-a-time",
  FollowUpMode: "one-at-a-time",
  CompactionEnabled: true,
  CompactionSettings: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 },
  RetryEnabled: true,
  RetrySettings: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxAgentDelayMs: 60_000 },
  HideThinkingBlock: false,
  ShowImages: true,
  EnableSkillCommands: true,
  ImageAutoResize: true,
  BlockImages: false,
  Packages: [],
  ExtensionPaths: [],
  SkillPaths: [],
  PromptTemplatePaths: [],
  ThemePaths: [],
  DoubleEscapeAction: "tree",
  EditorPaddingX: 0,
  OutputPad: 1,
  AutocompleteMaxVisible: 5,
  CodeBlockIndent: "  ",
  QuietStartup: false,
  Transport: "auto",
  AllModelThinkingLevels: {},
};

/**
 * Settings in memory. `create` gives those that it is asked for as they are by default: the user's are not an extension's to read.
 * `getX()` and `setX(value)` are there for every setting.
 */
export class SettingsManager {
  readonly #values: Values;

  private constructor(values: Values) {
    this.#values = { ...values };
    // biome-ignore lint/correctness/noConstructorReturn: settings have too many getters to write them all
    return new Proxy(this, {
      get(target, key) {
        const member: unknown = Reflect.get(target, key, target);
        if (member !== undefined || typeof key !== "string") {
          return typeof member === "function" ? member.bind(target) : member;
        }
        return target.#accessor(key);
      },
    });
  }

  static create(): SettingsManager {
    return new SettingsManager({});
  }
  static inMemory(settings: Values = {}): SettingsManager {
    return new SettingsManager(settings);
  }
  static fromStorage(): SettingsManager {
    return new SettingsManager({});
  }

  getSettings(): Values {
    return { ...this.#values };
  }
  getGlobalSettings(): Values {
    return this.getSettings();
  }
  getProjectSettings(): Values {
    return {};
  }
  isProjectTrusted(): boolean {
    return false;
  }
  applyOverrides(values: Values): void {
    Object.assign(this.#values, values);
  }
  async reload(): Promise<void> {}
  async flush(): Promise<void> {}
  drainErrors(): never[] {
    return [];
  }

  #accessor(key: string): unknown {
    const [, kind, name = ""] = /^(get|set|is)([A-Z]\w*)$/.exec(key) ?? [];
    const setting = name.charAt(0).toLowerCase() + name.slice(1);
    if (kind === "set") {
      return (value: unknown) => {
        this.#values[setting] = value;
      };
    }
    return kind === undefined ? undefined : () => this.#values[setting] ?? DEFAULTS[name];
  }
}

function refused(what: string): Error {
  return new Error(
    `${what}: keys are kept by the host; call models with pi-ai and ctx.modelRegistry, or pi.registerProvider`,
  );
}

/** Holds only what the extension puts into it. The user's keys are with the host, and none of them is read here. */
export class AuthStorage {
  readonly #keys = new Map<string, unknown>();

  static create(): AuthStorage {
    return new AuthStorage();
  }
  static fromStorage(): AuthStorage {
    return new AuthStorage();
  }
  static inMemory(data: Values = {}): AuthStorage {
    const storage = new AuthStorage();
    for (const [provider, credential] of Object.entries(data)) storage.#keys.set(provider, credential);
    return storage;
  }

  reload(): void {}
  get(provider: string): unknown {
    return this.#keys.get(provider);
  }
  set(provider: string, credential: unknown): void {
    this.#keys.set(provider, credential);
  }
  setRuntimeApiKey(provider: string, key: string): void {
    this.#keys.set(provider, { type: "api_key", key });
  }
  removeRuntimeApiKey(provider: string): void {
    this.#keys.delete(provider);
  }
  remove(provider: string): void {
    this.#keys.delete(provider);
  }
  has(provider: string): boolean {
    return this.#keys.has(provider);
  }
  hasAuth(provider: string): boolean {
    return this.#keys.has(provider);
  }
  list(): string[] {
    return [...this.#keys.keys()];
  }
  getAll(): Values {
    return Object.fromEntries(this.#keys);
  }
  async read(provider: string): Promise<unknown> {
    return this.get(provider);
  }
  async modify(provider: string, change: (current: unknown) => Promise<unknown>): Promise<unknown> {
    const next = await change(this.get(provider));
    if (next !== undefined) this.set(provider, next);
    return next;
  }
  async delete(provider: string): Promise<void> {
    this.remove(provider);
  }
  async getApiKey(provider: string): Promise<unknown> {
    return (this.#keys.get(provider) as { key?: unknown } | undefined)?.key;
  }
  async login(): Promise<never> {
    throw refused("AuthStorage.login");
  }
  async logout(): Promise<never> {
    throw refused("AuthStorage.logout");
  }
}

/** Of the user's keys there is none here. */
export function readStoredCredential(): undefined {
  return undefined;
}

/** A registry without models: the session's is `ctx.modelRegistry`. */
export class ModelRegistry {
  static create(): ModelRegistry {
    return new ModelRegistry();
  }
  static inMemory(): ModelRegistry {
    return new ModelRegistry();
  }

  refresh(): void {}
  getError(): undefined {
    return undefined;
  }
  getAll(): never[] {
    return [];
  }
  getAvailable(): never[] {
    return [];
  }
  find(): undefined {
    return undefined;
  }
  hasConfiguredAuth(): boolean {
    return false;
  }
  isUsingOAuth(): boolean {
    return false;
  }
  async getApiKey(): Promise<never> {
    throw refused("ModelRegistry.getApiKey");
  }
  async getApiKeyForProvider(): Promise<never> {
    throw refused("ModelRegistry.getApiKeyForProvider");
  }
  async getApiKeyAndHeaders(): Promise<{ ok: false; error: string }> {
    return { ok: false, error: refused("ModelRegistry.getApiKeyAndHeaders").message };
  }
  registerProvider(): never {
    throw refused("ModelRegistry.registerProvider");
  }
}
