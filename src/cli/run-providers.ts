/** The model providers of a run's extensions. What knows them loads with the first. */
import type { Rights } from "../../sandbox/broker/broker.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { Extension } from "../extensions/extension.ts";
import type { ActionFrame } from "../extensions/frame.ts";
import type { ProviderDesk } from "../extensions/providers.ts";
import type { RegisteredProvider } from "../models/registered.ts";

export interface RunProvidersOptions {
  dataDir: string;
  settings: ExtensionHostSettings;
  /** Whether the user may be asked for what a provider needs, when it is needed. */
  mayAsk: boolean;
  notice(text: string): void;
}

/** The actions that are about providers. */
const ACTIONS: ReadonlySet<string> = new Set(["register_provider", "unregister_provider"]);

export class RunProviders {
  readonly #options: RunProvidersOptions;
  readonly #providers = new Map<string, RegisteredProvider>();
  /** All extensions, once they have loaded. */
  #extensions: readonly Extension[] | undefined;
  #opening: Promise<ProviderDesk> | undefined;
  #desk: ProviderDesk | undefined;
  /** What came before there was a desk. */
  #waiting: ((desk: ProviderDesk) => void)[] = [];

  constructor(options: RunProvidersOptions) {
    this.#options = options;
  }

  /** Takes an action that is about providers; false for any other. */
  take(extension: Extension, frame: ActionFrame, rights: Rights | undefined, isProjects: boolean): boolean {
    if (!ACTIONS.has(frame.action)) return false;
    const act = (desk: ProviderDesk) => desk.onAction(extension, frame, rights, isProjects);
    if (this.#desk) {
      act(this.#desk);
    } else {
      this.#waiting.push(act);
      this.#opening ??= this.#open();
    }
    return true;
  }

  /** All extensions have loaded, in this order. Gives the desk, if there is a provider. */
  async begin(extensions: readonly Extension[]): Promise<ProviderDesk | undefined> {
    await this.#opening;
    this.#extensions = extensions;
    await this.#desk?.begin(extensions);
    return this.#desk;
  }

  /** An extension of this name is not there any more: neither are its providers. */
  left(name: string): void {
    this.#desk?.left(name);
  }

  /** As of now. */
  list(): RegisteredProvider[] {
    return [...this.#providers.values()];
  }

  async #open(): Promise<ProviderDesk> {
    const { dataDir, settings, mayAsk, notice } = this.#options;
    const [{ ProviderDesk }, { CredentialStore }] = await Promise.all([
      import("../extensions/providers.ts"),
      import("../models/credentials.ts"),
    ]);
    const desk = new ProviderDesk({
      providers: this.#providers,
      credentials: new CredentialStore(dataDir),
      isAllowed: (name) => settings.allowProviders.includes(name),
      mayAsk,
      notice,
    });
    for (const act of this.#waiting.splice(0)) act(desk);
    this.#desk = desk;
    if (this.#extensions) void desk.begin(this.#extensions);
    return desk;
  }
}
