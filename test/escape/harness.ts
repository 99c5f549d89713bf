/**
 * Attempts to escape, and the check from outside that nothing happened: a canary file, a server that must see no
 * connection, an environment variable, another extension's state, and the process itself. What comes back from the attacker, and
 * everything that it made us say, must have no canary's content in it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Broker } from "../../sandbox/broker/index.ts";
import type { Asker } from "../../sandbox/permissions/asker.ts";
import type { Permissions } from "../../sandbox/permissions/permissions.ts";
import { DEFAULT_SETTINGS, type ExtensionHostSettings } from "../../src/config/settings.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import { ExtensionManager, type ManagerOptions } from "../../src/extensions/manager.ts";
import { type AuthorityOptions, authorityOf } from "../support/authority.ts";
import { Folder } from "../support/folder.ts";
import type { Target } from "./attacker.ts";

/** What is promised; the text of the attempt; and what comes back if it was tried and held, `nothing` or an error by default. */
export type Attempt = readonly [promise: string, source: string, expected?: RegExp];

export interface ArenaOptions {
  /** The attacker's permissions. */
  granted?: Permissions | ((target: Target) => Permissions);
  /** What must not change, below the arena's folder; everything of the user's by default. */
  guards?: readonly string[];
  /** A script that runs in another process, in the project's folder, as long as the attempts do. */
  beside?: string;
  /** Symbolic links, below the arena's folder: where each leads from its own folder. */
  links?: Readonly<Record<string, string>>;
  /** More of his, by name: each is the text of a module of its own, with `$TARGET` and `$CANARY` in it. */
  modules?: Readonly<Record<string, string>>;
  /** Paths of extensions besides these. */
  extensions?: readonly string[];
  settings?: Partial<ExtensionHostSettings>;
  asker?: Asker;
  /** More files, below the folder, and which of them are programs. */
  files?: Readonly<Record<string, string>>;
  executable?: readonly string[];
}

const HELD = /^(value: nothing$|error: )/;
/** Nothing of the user's may change, and nothing of the agent's, ever. */
const GUARDS = ["guarded", "home", "data/credentials.json", "data/storage/victim", "data/permissions.json"];
export const DATA_DIR_GUARDS = GUARDS.filter((name) => name.startsWith("data/"));
const ATTACKER = fileURLToPath(new URL("./attacker.ts", import.meta.url));
const VARIABLE = "XDEV_ESCAPE_CANARY";
/** Where the attempts run: `XDEV_ESCAPE_LEVEL=host`, or `worker,host` for both. Under Deno a loop in a worker can't be ended. */
export const LEVELS = (process.env.XDEV_ESCAPE_LEVEL ?? ("Deno" in globalThis ? "host" : "worker")).split(
  ",",
) as ("worker" | "host")[];

const VICTIM = (secret: string): string => `
  let secret = ${JSON.stringify(secret)};
  export default (pi) => {
    pi.registerTool({
      name: "victim",
      parameters: { type: "object" },
      execute: async () => "mine: " + secret + " " + Object.keys(Object.prototype).length + typeof globalThis.poison,
    });
  };`;

export class Arena {
  readonly folder = new Folder();
  readonly target = {} as Target;
  /** Contents that must never be seen. */
  readonly secrets: string[] = [];
  readonly said: string[] = [];
  #manager: ExtensionManager | undefined;
  #connections = 0;
  readonly #server = createServer((socket) => {
    this.#connections++;
    socket.destroy();
  });
  /** A server that may be granted, which redirects to wherever it is asked to. */
  readonly #open = createHttpServer((request, response) => {
    const asked = new URL(request.url ?? "/", "http://x").searchParams;
    this.requests.push(`${request.method} ${request.url}`);
    const to = asked.get("to");
    if (to === null) response.end("open");
    else response.writeHead(Number(asked.get("code") ?? 302), { location: to }).end("moved");
  });
  readonly requests: string[] = [];
  #guards: readonly string[] = GUARDS;
  #beside: ChildProcess | undefined;
  readonly #inject = new Map<string, (frame: unknown) => void>();
  #broker: Broker | undefined;
  /** The other extension's. */
  readonly #secret = newSecret();
  #guardedBefore = "";

  private constructor() {}

  static async open(level: "worker" | "host", options: ArenaOptions = {}): Promise<Arena> {
    const arena = new Arena();
    await arena.#start(level, options);
    return arena;
  }

  get manager(): ExtensionManager {
    return this.#manager!;
  }

  async #start(level: "worker" | "host", options: ArenaOptions): Promise<void> {
    const { folder } = this;
    const content = newSecret();
    const variable = newSecret();
    process.env[VARIABLE] = variable;
    const canary = folder.file("guarded/canary.txt", content);
    folder.file("guarded/canary.json", JSON.stringify({ content }));
    for (const name of ["project", "home/.ssh", "tmp", "data/storage/attacker", "data/storage/victim"]) {
      mkdirSync(join(folder.path, name), { recursive: true });
    }
    for (const [name, text] of Object.entries(options.files ?? {})) {
      folder.file(name, text, options.executable?.includes(name) ? 0o755 : undefined);
    }
    folder.file("home/.ssh/id_ed25519", content);
    // Of the data dir's own: whatever is granted, this is not.
    const kept = newSecret();
    folder.file("data/credentials.json", JSON.stringify({ key: kept }));
    folder.file("data/permissions.json", JSON.stringify({ note: kept }));
    folder.file("data/cache/bundle.json", JSON.stringify({ note: kept }));
    folder.file("data/storage/victim/state.json", JSON.stringify({ kept }));
    for (const [name, to] of Object.entries(options.links ?? {})) symlinkSync(to, join(folder.path, name));
    const port = await listen(this.#server);
    const openPort = await listen(this.#open);
    Object.assign(this.target, {
      canary,
      folder: join(folder.path, "guarded"),
      url: `http://127.0.0.1:${port}/`,
      port,
      openUrl: `http://127.0.0.1:${openPort}/`,
      openPort,
      variable: VARIABLE,
      victim: "victim",
      victimStorage: join(folder.path, "data/storage/victim"),
      dataDir: join(folder.path, "data"),
      cwd: join(folder.path, "project"),
    });
    this.secrets.push(kept, variable, this.#secret);
    if (!options.guards) this.secrets.push(content);
    const modules = Object.entries(options.modules ?? {}).map(([name, text]) =>
      folder.file(`extensions/${name}.ts`, this.#filled(text)),
    );
    const paths = [
      ATTACKER,
      folder.file("extensions/victim.ts", VICTIM(this.#secret)),
      ...modules,
      ...(options.extensions ?? []),
    ];
    const say = (...parts: unknown[]): void => void this.said.push(parts.map(String).join(" "));
    const { settings, asker } = options;
    const granted = typeof options.granted === "function" ? options.granted(this.target) : options.granted;
    this.#guards = options.guards ?? GUARDS;
    const names = ["attacker", "walker", ...Object.keys(options.modules ?? {})];
    this.#manager = await ExtensionManager.load({
      sources: (await Promise.all(paths.map(identifyExtensions))).flat(),
      settings: { ...DEFAULT_SETTINGS.extensionHost, isolation: level, ...settings },
      env: process.env,
      wrapChannel: (channel, { name }) => ({
        ...channel,
        open: (handlers) => {
          this.#inject.set(name, (frame) => handlers.onMessage(frame));
          channel.open(handlers);
        },
      }),
      authority: this.#watched({
        cwd: this.target.cwd,
        home: join(folder.path, "home"),
        tmp: join(folder.path, "tmp"),
        dataDir: this.target.dataDir,
        granted: Object.fromEntries(names.map((name) => [name, granted ?? {}])),
        env: process.env,
        ...(asker ? { asker } : {}),
      }),
      host: {
        notice: (text) => say("notice", text),
        notify: (name, message, kind) => say("notify", name, kind, message),
        action: (name, frame) => say("action", name, JSON.stringify(frame)),
        log: (name, kind, text) => {
          say("log", name, kind, text);
          return true;
        },
      },
    });
    assert.ok(this.hasAttacker, this.said.join("\n"));
    this.#guardedBefore = this.#guarded();
    if (options.beside !== undefined) {
      const evaluate = "Deno" in globalThis ? "eval" : "-e";
      const { cwd } = this.target;
      this.#beside = spawn(process.execPath, [evaluate, options.beside], { cwd, stdio: "ignore", env: {} });
    }
    hostBefore ??= hostState();
  }

  /** A module's text with what its author knows of the outside. */
  #filled(text: string): string {
    return text
      .replaceAll("$CANARY", JSON.stringify(this.target.canary))
      .replaceAll("$TARGET", JSON.stringify(this.target));
  }

  /** Hands a frame up as the attacker's worker would, had he broken out of the API: whatever he can put into one message. */
  forge(frame: unknown): void {
    this.#inject.get("attacker")?.(frame);
  }

  /** A system call as one who has broken out of the shims could make it. Gives its answer as text. */
  async call(operation: string, params: unknown, bytes?: Uint8Array): Promise<string> {
    const text = typeof params === "string" ? params : (JSON.stringify(params) ?? "null");
    const reply = await this.#broker!.call(operation, text, bytes);
    const told = reply.error ?? reply.text + new TextDecoder().decode(reply.bytes ?? new Uint8Array());
    this.#leaksNothing(told);
    return reply.error === undefined ? `value: ${told}` : `error: ${told}`;
  }

  #watched(options: AuthorityOptions): NonNullable<ManagerOptions["authority"]> {
    const authority = authorityOf(options);
    return async (source, bundle, hold) => {
      const given = await authority(source, bundle, hold);
      if (source.name === "attacker") this.#broker = given.broker;
      return given;
    };
  }

  get hasAttacker(): boolean {
    return this.manager.extensions.some(({ name, state }) => name === "attacker" && state === "ready");
  }

  /** Evaluates the text of an attempt in the attacker's extension; gives what he says, and checks that he says no secret. */
  async attempt(source: string): Promise<string> {
    return this.invoke("attempt", { source, target: this.target });
  }

  /** Calls a tool of some extension; gives its text, or `denied: ` and the reason. */
  async invoke(name: string, params: unknown): Promise<string> {
    const tool = this.manager.tools([]).find((one) => one.name === name);
    if (!tool) return `denied: there is no ${name}`;
    let text: string;
    try {
      const { content } = await tool.execute("c", params as Record<string, unknown>);
      text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    } catch (error) {
      text = `denied: ${(error as Error).message}`;
    }
    if (name !== "victim") this.#leaksNothing(text);
    return text;
  }

  /** Checks from outside that nothing happened. */
  async check(): Promise<void> {
    this.#leaksNothing(this.said.join("\n"));
    assert.equal(this.#connections, 0, "somebody connected to the server");
    assert.deepEqual(
      this.requests.filter((line) => line.includes(" /smuggled")),
      [],
    );
    assert.equal(this.#guarded(), this.#guardedBefore, "a guarded file changed");
    assert.deepEqual(hostState(), hostBefore, "the host's realm was changed");
    assert.equal(
      await this.invoke("victim", {}),
      `mine: ${this.#secret} 0undefined`,
      "another extension was changed",
    );
  }

  #leaksNothing(text: string): void {
    for (const secret of this.secrets)
      assert.ok(!text.includes(secret), `a secret came out: ${text.slice(0, 500)}`);
    assert.ok(!text.includes("OUTSIDE"), text.slice(0, 500));
  }

  #guarded(): string {
    const { path } = this.folder;
    return this.#guards.flatMap((name) => contents(join(path, name))).join("\n");
  }

  async close(): Promise<void> {
    this.#beside?.kill("SIGKILL");
    await this.manager.abort();
    this.#server.close();
    this.#open.close();
    delete process.env[VARIABLE];
    this.folder[Symbol.dispose]();
  }
}

/** `XDEV_ESCAPE_SHOW=1` shows what each attempt got: a reviewer sees that it was tried. */
const shows = process.env.XDEV_ESCAPE_SHOW === "1";

/** Runs attempts of one kind, one after the other, in one extension, at every level. */
export function attempts(title: string, list: readonly Attempt[], options: ArenaOptions = {}): void {
  for (const level of LEVELS) {
    describe(`${title} (${level})`, () => {
      let arena: Arena;
      before(async () => {
        arena = await Arena.open(level, options);
      });
      after(() => arena.close());
      for (const [promise, source, expected = HELD] of list) {
        test(promise, async () => {
          // One that ended his own extension is not to end the attempts after it.
          if (!arena.hasAttacker) {
            await arena.close();
            arena = await Arena.open(level, options);
          }
          const told = await arena.attempt(source);
          if (shows) console.log(`${promise.slice(0, 90)} => ${told.slice(0, 200)}`);
          assert.match(told, expected);
          await arena.check();
        });
      }
    });
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function newSecret(): string {
  return `canary-${randomBytes(16).toString("hex")}`;
}

function contents(path: string): string[] {
  let stats: ReturnType<typeof lstatSync>;
  try {
    stats = lstatSync(path);
  } catch {
    return [`${path}: none`];
  }
  if (!stats.isDirectory()) {
    return [`${path} ${stats.mode} ${stats.nlink} ${stats.mtimeMs} ${readFileSync(path, "utf8")}`];
  }
  return readdirSync(path)
    .sort()
    .flatMap((name) => contents(join(path, name)));
}

let hostBefore: unknown;

/** What of this process an attacker would change. */
function hostState(): unknown {
  const { [VARIABLE]: _, ...env } = process.env;
  return {
    globals: Reflect.ownKeys(globalThis).map(String).sort(),
    prototypes: [Object, Array, Function, Promise, Error, String, RegExp, Map].map((one) =>
      Reflect.ownKeys(one.prototype).map(String).sort(),
    ),
    env,
    cwd: process.cwd(),
    umask: process.umask(),
  };
}
