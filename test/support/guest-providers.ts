/** A module with a provider, loaded as a run would load it, and the models that it brings. */
import type { AssistantMessage, AssistantMessageEvent, SimpleStreamOptions } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import type { Rights } from "../../sandbox/broker/broker.ts";
import { RunProviders } from "../../src/cli/run-providers.ts";
import type { ExtensionHostSettings } from "../../src/config/settings.ts";
import type { CallServices } from "../../src/extensions/calls.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import type { Extension } from "../../src/extensions/extension.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import type { ProviderDesk } from "../../src/extensions/providers.ts";
import type { FetchPolicy } from "../../src/models/fetch.ts";
import { listModels, type ModelOptions, resolveModel } from "../../src/models/index.ts";
import type { Folder } from "./folder.ts";
import { TEST_SETTINGS } from "./level.ts";

export interface GuestOptions {
  /** Which rights each has, by its name; `provider` for all without it. */
  has?: (name: string) => Rights["has"];
  settings?: Partial<ExtensionHostSettings>;
  env?: Record<string, string>;
  /** Default: `data` in the folder. */
  dataDir?: string;
  loginQuestion?: CallServices["loginQuestion"];
}

export class GuestProviders implements AsyncDisposable {
  readonly notices: string[] = [];
  readonly manager: ExtensionManager;
  readonly desk: ProviderDesk | undefined;
  readonly providers: RunProviders;
  readonly #dataDir: string;
  readonly #env: Record<string, string>;

  private constructor(
    manager: ExtensionManager,
    desk: ProviderDesk | undefined,
    providers: RunProviders,
    dataDir: string,
    env: Record<string, string>,
    notices: string[],
  ) {
    this.manager = manager;
    this.desk = desk;
    this.providers = providers;
    this.#dataDir = dataDir;
    this.#env = env;
    this.notices = notices;
  }

  /** `modules` are texts by their names; each is a file of the folder. */
  static async load(
    folder: Folder,
    modules: Record<string, string>,
    options: GuestOptions = {},
  ): Promise<GuestProviders> {
    const { has = () => () => true, settings, env = {}, loginQuestion } = options;
    const notices: string[] = [];
    const notice = (text: string) => void notices.push(text);
    const { dataDir = `${folder.path}/data` } = options;
    const paths = Object.entries(modules).map(([name, text]) => folder.file(`${name}.ts`, text));
    const providers = new RunProviders({
      dataDir,
      settings: { ...TEST_SETTINGS, ...settings },
      mayAsk: false,
      notice,
    });
    const manager = await ExtensionManager.load({
      sources: (await Promise.all(paths.map(identifyExtensions))).flat(),
      settings: { ...TEST_SETTINGS, ...settings },
      env: {},
      authority: async ({ name }) => ({
        rights: { demand: async () => {}, has: has(name), keepsBelow: () => false },
        broker: {
          call: async () => ({ error: JSON.stringify({ code: "EACCES", message: "none in this test" }) }),
          close: async () => {},
        },
        about: {
          ...{ cwd: "/", env: {}, platform: process.platform, arch: process.arch, pid: 1 },
          ...{ home: "/", tmp: "/", data: "/", wasm: false },
        },
      }),
      host: {
        notice,
        notify: () => {},
        action: (_name, frame, rights, isProjects, extension) => {
          providers.take(extension, frame, rights, isProjects);
        },
        ...(loginQuestion ? { loginQuestion } : {}),
      },
    });
    const desk = await providers.begin(manager.extensions);
    return new GuestProviders(manager, desk, providers, dataDir, env, notices);
  }

  extension(name: string): Extension {
    const found = this.manager.extensions.find((one) => one.name === name);
    if (!found) throw new Error(`there is no extension ${name}`);
    return found;
  }

  get #options(): ModelOptions {
    return {
      dataDir: this.#dataDir,
      cwd: this.#dataDir,
      env: this.#env,
      localServers: [],
      registered: this.providers.list(),
    };
  }

  list = () => listModels(this.#options);

  /** A request to a model: its stream. */
  async ask(
    spec: string,
    options: SimpleStreamOptions = {},
    { question = "hello", tuning = {} }: { question?: string; tuning?: Partial<FetchPolicy> } = {},
  ) {
    const { model, stream } = await resolveModel({ ...this.#options, spec, tuning });
    const context = normalizeContext({
      systemPrompt: "You are a test. ".repeat(10),
      messages: [{ role: "user", content: question, timestamp: 1 }],
      tools: [{ name: "bash", description: "runs", parameters: { type: "object", properties: {} } as never }],
    });
    return stream(model, context, options);
  }

  /** All events of an answer, and the message that it ends with. */
  async answer(
    spec: string,
    ...rest: Parameters<GuestProviders["ask"]> extends [string, ...infer Rest] ? Rest : never
  ): Promise<{ events: AssistantMessageEvent[]; message: AssistantMessage }> {
    const stream = await this.ask(spec, ...rest);
    const events: AssistantMessageEvent[] = [];
    for await (const event of stream) events.push(event);
    return { events, message: await stream.result() };
  }

  /** What the command `seen` of the fixture says. */
  async seen(name = "mine"): Promise<Record<string, unknown>> {
    const reply = await this.extension(name).request(
      "command",
      { command: "seen", arguments: "" },
      { timeoutMs: 5000 },
    );
    return JSON.parse((reply.patch as { text: string }).text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.manager.stop();
  }
}
