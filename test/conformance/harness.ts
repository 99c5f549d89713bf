/** A session with scripted extensions on either transport, and everything that passes between it and them. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { withTimeout } from "../../src/base/time.ts";
import { DEFAULT_SETTINGS, type ExtensionHostSettings } from "../../src/config/settings.ts";
import {
  decideToolCall,
  type Interceptor,
  patchToolResult,
  type ToolResult,
} from "../../src/extensions/chain.ts";
import type { Channel } from "../../src/extensions/channel.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import type { Extension } from "../../src/extensions/extension.ts";
import type { EventName, HostFrame, ResponseFrame } from "../../src/extensions/frame.ts";
import { ExtensionManager, type ManagerHost } from "../../src/extensions/manager.ts";
import { CHANGES_CALLS } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";
import { scriptedWorker } from "./guest.ts";
import type { Script } from "./script.ts";

export type Transport = "process" | "worker";
export const TRANSPORTS: readonly Transport[] = ["process", "worker"];
/** Nothing may take so long, in ms: a test that waits in vain ends, and says so. */
const HANG_MS = 30_000;

const PEER = readFileSync(fileURLToPath(new URL("peer.py", import.meta.url)), "utf8");
/** The interpreter itself: a version manager's stand-in for it takes longer to start than a peer lives. */
const PYTHON = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], {
  encoding: "utf8",
}).stdout.trim();

export interface SessionOptions {
  settings?: Partial<ExtensionHostSettings>;
  host?: Partial<ManagerHost>;
}

/** Something that passed between the host and an extension. */
interface Passed {
  extension: string;
  /** `performance.now()` */
  at: number;
  sent?: HostFrame;
  received?: unknown;
}

/** `await using` ends its extensions and removes its folder. */
export class Session implements AsyncDisposable {
  readonly folder = new Folder();
  readonly notices: string[] = [];
  readonly notifications: string[] = [];
  readonly actions: string[] = [];
  readonly logs: string[] = [];
  readonly passed: Passed[] = [];
  /** Put before the extensions in the chain. */
  interceptorsBefore: readonly Interceptor[] = [];
  /** Set when `load` is over. */
  manager!: ExtensionManager;
  readonly #options: SessionOptions;
  readonly #paths: string[] = [];
  readonly #workers = new Set<string>();
  #loading: Promise<unknown> | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(options: SessionOptions = {}) {
    this.#options = options;
  }

  /** Adds a scripted extension. */
  peer(name: string, script: Script, transport: Transport = "process"): string {
    this.folder.file(`${name}.json`, JSON.stringify(script));
    if (transport === "worker") this.#workers.add(name);
    return this.program(`${name}.py`, `#!${PYTHON} -SE\n${PEER}`);
  }

  /** Adds an executable. */
  program(name: string, text: string): string {
    const path = this.folder.program(name, text);
    this.#paths.push(path);
    return path;
  }

  /** Adds a module, a real guest. */
  module(name: string, text: string): string {
    const path = this.folder.file(name, text);
    this.#paths.push(path);
    return path;
  }

  /** @param origin who is said to have brought them */
  async load(origin: "user" | "project" = "user"): Promise<this> {
    const found = (await Promise.all(this.#paths.map(identifyExtensions))).flat();
    const sources = found.map((source) => ({ ...source, origin }));
    const note = (list: string[]) => (text: string) => {
      list.push(text);
      this.#wake();
    };
    const notice = note(this.notices);
    const notified = note(this.notifications);
    const acted = note(this.actions);
    const logged = note(this.logs);
    const settings = { ...DEFAULT_SETTINGS.extensionHost, ...this.#options.settings };
    const loading = ExtensionManager.load({
      sources,
      settings,
      env: process.env,
      authority: async () => CHANGES_CALLS,
      wrapChannel: (channel, { name, path }) => {
        const limit = settings.overrides[name]?.maxFrameBytes ?? settings.maxFrameBytes;
        return this.#watch(name, this.#workers.has(name) ? scriptedWorker(path, limit) : channel);
      },
      host: {
        notice,
        notify: (extension, message, level) => notified(`${extension} ${level} ${message}`),
        action: (extension, { action, text }) => acted(`${extension} ${action} ${text ?? ""}`),
        log: (extension, level, text) => {
          logged(`${extension} ${level} ${text}`);
          return true;
        },
        ...this.#options.host,
      },
    });
    this.#loading = loading;
    this.manager = await loading;
    return this;
  }

  /** The extension, of a session with one. */
  get extension(): Extension {
    return this.manager.extensions[0]!;
  }

  /** What the chain decides: `allow`, or the text that the model gets. */
  async verdict(command = "ls", signal?: AbortSignal): Promise<string> {
    const verdict = await this.decide({ command }, signal);
    return verdict.allow ? "allow" : verdict.reason;
  }

  /** What the chain decides about a call of a tool that takes a `command`. */
  decide(args: Record<string, unknown>, signal?: AbortSignal, callId = "c1", tool = "bash") {
    const validate = (revised: Record<string, unknown>) => {
      if (typeof revised.command !== "string") throw new Error("command: must be a string");
      return revised;
    };
    return guarded(decideToolCall(this.#chain(), { tool, arguments: args, callId }, validate, signal));
  }

  patch(result: Partial<ToolResult> = {}): Promise<ToolResult> {
    return guarded(
      patchToolResult(
        this.#chain(),
        { tool: "bash", arguments: { command: "ls" }, callId: "c1" },
        { content: [{ type: "text", text: "old" }], details: 1, isError: false, ...result },
      ),
    );
  }

  /** One round trip with the only extension. */
  request(event: EventName, payload: unknown = {}): Promise<ResponseFrame> {
    return guarded(this.extension.request(event, payload, { timeoutMs: HANG_MS }));
  }

  /** Waits for what is to come; looked at again whenever something passes or is said. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await guarded(this.#changed.promise);
  }

  /** The frames that an extension was sent, of one type. */
  sent<T extends HostFrame["type"]>(type: T, extension?: string): Extract<HostFrame, { type: T }>[] {
    return this.passed.flatMap(({ extension: name, sent }) => {
      if (sent?.type !== type || (extension !== undefined && name !== extension)) return [];
      return [sent as Extract<HostFrame, { type: T }>];
    });
  }

  /** The pid that a peer's step `fork` logged. */
  forkedPid(): number {
    return Number(/pid (\d+)/.exec(this.logs.join("\n"))?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loading?.catch(() => {});
    await this.manager?.stop();
    this.folder[Symbol.dispose]();
  }

  #chain(): readonly Interceptor[] {
    return [...this.interceptorsBefore, ...this.manager.interceptors()];
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #watch(extension: string, channel: Channel): Channel {
    const at = () => performance.now();
    return {
      open: (handlers) =>
        channel.open({
          onMessage: (value) => {
            this.passed.push({ extension, at: at(), received: value });
            handlers.onMessage(value);
            this.#wake();
          },
          onProblem: (problem) => {
            handlers.onProblem(problem);
            this.#wake();
          },
          onLog: (line) => handlers.onLog(line),
          onClose: (end) => {
            handlers.onClose(end);
            this.#wake();
          },
        }),
      send: (frame) => {
        this.passed.push({ extension, at: at(), sent: structuredClone(frame) });
        channel.send(frame);
        this.#wake();
      },
      close: (graceMs) => channel.close(graceMs),
      kill: () => channel.kill(),
    };
  }
}

/** A loaded session whose only extension is called `peer`. */
export async function loadPeer(
  script: Script,
  transport: Transport = "process",
  options: SessionOptions = {},
): Promise<Session> {
  const session = new Session(options);
  session.peer("peer", script, transport);
  return session.load();
}

export function guarded<T>(promise: Promise<T>): Promise<T> {
  return withTimeout(promise, HANG_MS, "what the test waits for");
}
