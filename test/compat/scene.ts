/** Plays a session of an expectation: the compiled program in rpc mode, the extension as it is, a scripted model and user. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { storageName } from "../../sandbox/permissions/folders.ts";
import { changeGrants } from "../../sandbox/permissions/grants.ts";
import { type Permissions, union } from "../../sandbox/permissions/permissions.ts";
import { type ExtensionSource, identifyExtensions } from "../../src/extensions/discovery.ts";
import { Folder } from "../support/folder.ts";
import type { Rec } from "../support/rpc.ts";
import { start, XDEV } from "../support/xdev.ts";
import { matches, type Partial, type Registrations, type Scenario, type Step } from "./expectations.ts";
import type { ScriptedModels } from "./model.ts";

/** Nothing may take so long, in ms: a session that waits in vain ends, and says for what. */
const HANG_MS = 30_000;

export interface SceneOptions {
  /** What `-e` names. */
  path: string;
  /** Paths in it may begin with $WORK, $HOME, $DATA and $TMP, like all texts of a scenario. */
  needs: Permissions;
  scenario: Scenario;
  models: ScriptedModels;
  /** Looked at first, where it is given. */
  registers?: Registrations;
}

/** Throws an `AssertionError` for whatever is not as expected. Leaves nothing behind. */
export async function playScene(options: SceneOptions): Promise<void> {
  using folder = new Folder();
  const scene = new Scene(folder, options, await identifyExtensions(options.path));
  try {
    await scene.prepare();
    if (options.registers) await scene.inspect(options.registers);
    scene.start();
    for (const step of scene.scenario.steps) await scene.step(step);
    await scene.end();
  } finally {
    scene.kill();
  }
}

class Scene {
  readonly scenario: Scenario;
  readonly #options: SceneOptions;
  readonly #sources: readonly ExtensionSource[];
  readonly #folder: Folder;
  readonly #places: Record<string, string>;
  readonly #records: Rec[] = [];
  /** What has been awaited, so that two steps mean two records. */
  readonly #used = new Set<Rec>();
  #env: Record<string, string> = {};
  #cursor = 0;
  #count = 0;
  #child!: ChildProcess;
  #problems: () => string[] = () => [];
  #stderr = "";
  #isClosed = false;
  #status: number | null | undefined;
  #wake = Promise.withResolvers<void>();
  /** The id of the last command. */
  #last = "";
  /** Commands that may still go on, and how many records there were before each. */
  readonly #open: { id: string; isPrompt: boolean; at: number }[] = [];

  constructor(folder: Folder, options: SceneOptions, sources: readonly ExtensionSource[]) {
    this.#sources = sources;
    this.#folder = folder;
    this.#options = options;
    const names = { WORK: "work", HOME: "home", DATA: "data", TMP: "tmp", BIN: "bin" };
    this.#places = Object.fromEntries(
      Object.entries(names).map(([name, path]) => [name, join(folder.path, path)]),
    );
    for (const path of Object.values(this.#places)) mkdirSync(path);
    const [{ path, name }] = sources as [ExtensionSource];
    const data = this.#places.DATA!;
    this.#places.STORAGE = join(data, "storage", storageName(path, name, data));
    this.#places.EXTENSION = dirname(path);
    this.#places.PACKAGE = options.path;
    this.#places.XDEV = XDEV;
    this.scenario = this.#placed(options.scenario);
  }

  /** The same value with the scene's folders in the place of their names. */
  #placed<T>(value: T): T {
    const text = JSON.stringify(value).replace(
      /\$(WORK|HOME|DATA|TMP|BIN|STORAGE|EXTENSION|PACKAGE|XDEV)\b/g,
      (_, name: string) => JSON.stringify(this.#places[name]).slice(1, -1),
    );
    return JSON.parse(text) as T;
  }

  async prepare(): Promise<void> {
    const { files, before, env, providers, model } = this.scenario;
    for (const [name, text] of Object.entries(files)) {
      this.#folder.file(this.#relative(name), text, name.startsWith("bin/") ? 0o755 : undefined);
    }
    const { baseUrl, problems } = this.#options.models.play(model);
    this.#problems = problems;
    const ids = [{ id: "test", reasoning: true }, { id: "other" }];
    const local = { baseUrl, api: "openai-completions", apiKey: "a-key-of-the-test", models: ids };
    const more = Object.fromEntries(
      Object.entries(providers).map(([name, given]) => [name, { ...local, ...given }]),
    );
    this.#folder.file("data/models.yml", JSON.stringify({ providers: { local, ...more } }));
    const variables = {
      PATH: `${this.#places.BIN}:${process.env.PATH ?? ""}`,
      HOME: this.#places.HOME!,
      TMPDIR: this.#places.TMP!,
      SHELL: "/bin/sh",
      ...{
        GIT_AUTHOR_NAME: "A",
        GIT_AUTHOR_EMAIL: "a@b.c",
        GIT_COMMITTER_NAME: "A",
        GIT_COMMITTER_EMAIL: "a@b.c",
      },
      ...env,
    };
    const cwd = this.#places.WORK!;
    if (before) execFileSync("/bin/sh", ["-ec", before], { cwd, env: variables, stdio: "pipe" });
    this.#env = variables;
    await this.#grant();
  }

  /** What `xdev ext list` says that its modules register, in the same data dir: bundles are made once. */
  async inspect(expected: Registrations): Promise<void> {
    const words = ["ext", "list", "--json", "--data-dir", this.#places.DATA!, "-e", this.#options.path];
    const { stdout, stderr } = await start(words, { cwd: this.#places.WORK!, env: this.#env }).ended;
    const modules = JSON.parse(stdout) as (Record<string, string[]> & { error?: string })[];
    const errors = modules.flatMap(({ name, error }) => (error ? [`${name}: ${error}`] : []));
    assert.deepEqual(errors, [], stderr);
    assert.equal(modules.length, this.#sources.length);
    const kinds = Object.keys(expected) as (keyof Registrations)[];
    const found = kinds.map((kind) => [kind, modules.flatMap((module) => module[kind] ?? []).sort()]);
    assert.deepEqual(
      Object.fromEntries(found),
      Object.fromEntries(kinds.map((kind) => [kind, expected[kind].toSorted()])),
    );
  }

  start(): void {
    const { args } = this.scenario;
    const words = ["--mode", "rpc", "--data-dir", this.#places.DATA!];
    if (!args.includes("--model")) words.push("--model", "local/test");
    this.#child = spawn(XDEV, [...words, "-e", this.#options.path, ...args], {
      cwd: this.#places.WORK,
      env: this.#env,
      stdio: "pipe",
    });
    this.#listen();
  }

  async #grant(): Promise<void> {
    const needs = this.#placed(this.#options.needs);
    if (Object.keys(needs).length === 0) return;
    for (const { path, name } of this.#sources) {
      await changeGrants(this.#places.DATA!, path, (record) => ({
        ...record,
        name,
        added: union(record.added, needs),
      }));
    }
  }

  #listen(): void {
    let rest = "";
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(JSON.parse(line) as Rec);
    });
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#child.stdin!.on("error", () => {});
    this.#child.on("close", (status) => {
      this.#isClosed = true;
      this.#status = status;
      this.#wake.resolve();
    });
  }

  #take(record: Rec): void {
    this.#records.push(record);
    // A question of the program's own, on permissions: what was not granted beforehand is denied.
    if (isRequest(record, "input") && record.extension === undefined) {
      this.#write({ type: "extension_ui_response", id: record.id, cancelled: true });
    }
    this.#wake.resolve();
  }

  #write(command: object): void {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
  }

  async #until<T>(what: string, find: () => T | undefined): Promise<T> {
    const deadline = Date.now() + HANG_MS;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#isClosed || Date.now() >= deadline) this.#fail(`waited for ${what}`);
      this.#wake = Promise.withResolvers();
      const timer = setTimeout(this.#wake.resolve, deadline - Date.now());
      await this.#wake.promise;
      clearTimeout(timer);
    }
  }

  #fail(what: string): never {
    const shown = this.#records.slice(-25).map((record) => JSON.stringify(record).slice(0, 400));
    const problems = this.#problems();
    assert.fail(
      [
        what,
        ...(problems.length > 0 ? ["model:", ...problems] : []),
        "records:",
        ...shown,
        "stderr:",
        this.#stderr.slice(-2000),
      ].join("\n  "),
    );
  }

  /** The first record since the last command that is like this, and was not found before. */
  #find(matching: (record: Rec) => boolean): Rec | undefined {
    const found = this.#records.find(
      (record, index) => index >= this.#cursor && !this.#used.has(record) && matching(record),
    );
    if (found) this.#used.add(found);
    return found;
  }

  async step(step: Step): Promise<void> {
    if ("prompt" in step)
      return this.#send(
        { type: "prompt", message: step.prompt, ...(step.now ? { streamingBehavior: "steer" } : {}) },
        step.now,
      );
    if ("send" in step) return this.#send(this.#withSession(step.send), step.now);
    if ("fork" in step) return this.#fork(step.fork);
    if ("reply" in step) return this.#reply(step.reply);
    if ("close" in step) return this.#close();
    if ("asked" in step) return this.#answer(step.asked, step.answer);
    const text = JSON.stringify(step);
    if ("shown" in step) {
      await this.#until(text, () =>
        this.#find((record) => record.type === "extension_ui_request" && matches(record, step.shown)),
      );
    } else if ("event" in step) {
      await this.#until(text, () => this.#find((record) => matches(record, step.event)));
    } else if ("ends" in step) {
      await this.#until(text, () => (this.#status === undefined ? undefined : true)).catch(
        (error: unknown) => {
          if (this.#status !== 0) throw error;
        },
      );
    } else await this.#look(step, text);
  }

  /** What is only true when all is quiet. */
  async #look(
    step: Extract<
      Step,
      { never: unknown } | { entry: unknown } | { file: string } | { write: string } | { shell: string }
    >,
    text: string,
  ): Promise<void> {
    if ("write" in step) return void this.#folder.file(this.#relative(step.write), step.text);
    if (!this.#isClosed) await this.#idle();
    if ("never" in step) {
      if (this.#records.some((record) => matches(record, step.never))) this.#fail(text);
    } else if ("entry" in step) {
      await this.#soon(text, async () => {
        await this.#send({ type: "get_entries" });
        const response = await this.#until("the entries", () => this.#response(this.#last));
        const isThere = matches(response, { data: { entries: [step.entry] } });
        return isThere ? undefined : JSON.stringify(response).slice(-2000);
      });
    } else if ("file" in step) {
      const path = join(this.#folder.path, this.#relative(step.file));
      await this.#soon(text, () => {
        const content = existsSync(path) ? readFileSync(path, "utf8") : null;
        const isRight = step.contains === null ? content === null : content?.includes(step.contains);
        return isRight === true ? undefined : String(content);
      });
    } else {
      await this.#soon(text, () => {
        const { status, stdout, stderr } = spawnSync("/bin/sh", ["-ec", step.shell], {
          cwd: this.#places.WORK,
          encoding: "utf8",
          env: { PATH: process.env.PATH },
        });
        return status === 0 && stdout.includes(step.contains ?? "") ? undefined : `${stdout}${stderr}`;
      });
    }
  }

  /** What an extension does of its own accord may come a little later: `look` gives undefined when it is there, or what is instead. */
  async #soon(what: string, look: () => string | undefined | Promise<string | undefined>): Promise<void> {
    const deadline = Date.now() + HANG_MS;
    for (let found = await look(); found !== undefined; found = await look()) {
      if (Date.now() > deadline) this.#fail(`${what}, and there is: ${found}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #relative(path: string): string {
    return path.startsWith(`${this.#folder.path}/`) ? path.slice(this.#folder.path.length + 1) : path;
  }

  async #send(command: { type: string; [member: string]: unknown }, now = false): Promise<void> {
    if (!now) await this.#idle();
    const id = `c${++this.#count}`;
    if (!now) this.#cursor = this.#count === 1 ? 0 : this.#records.length;
    this.#last = id;
    this.#open.push({ id, isPrompt: command.type === "prompt", at: this.#records.length });
    this.#write({ id, ...command });
  }

  #withSession<T>(command: T): T {
    const text = JSON.stringify(command);
    if (!text.includes("$SESSION")) return command;
    const first = this.#records.find(({ type }) => type === "session_start");
    return JSON.parse(text.replaceAll("$SESSION", String(first?.sessionFile))) as T;
  }

  async #fork(said: string): Promise<void> {
    await this.#send({ type: "get_fork_messages" });
    const { data } = await this.#until("messages", () => this.#response(this.#last));
    const { messages } = data as { messages: { entryId: string; text: string }[] };
    const entryId = messages.find(({ text }) => text.includes(said))?.entryId;
    await this.#send({ type: "fork", entryId });
  }

  #response(id: string): Rec | undefined {
    return this.#records.find((record) => record.type === "response" && record.id === id);
  }

  async #reply(expected: Partial): Promise<void> {
    const response = await this.#until("a response", () => this.#response(this.#last));
    if (!matches(response, expected))
      this.#fail(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(response)}`);
  }

  async #answer(title: string, answer: string | boolean | null): Promise<void> {
    const asked = await this.#until(`the question ${title}`, () =>
      this.#find(
        (record) =>
          ["select", "confirm", "input", "editor"].some((method) => isRequest(record, method)) &&
          record.extension !== undefined &&
          `${record.title}\n${record.message ?? ""}`.includes(title),
      ),
    );
    const reply =
      answer === null
        ? { cancelled: true }
        : typeof answer === "boolean"
          ? { confirmed: answer }
          : { value: answer };
    this.#write({ type: "extension_ui_response", id: asked.id, ...reply });
  }

  /** All commands have their responses, and the runs that they began are over. */
  async #idle(): Promise<void> {
    for (const { id, isPrompt, at } of this.#open.splice(0)) {
      const response = await this.#until(`the response to ${id}`, () => this.#response(id));
      const { disposition } = (response.data ?? {}) as { disposition?: string };
      if (!isPrompt || disposition === "handled" || response.success === false) continue;
      // It may be over before its response is read.
      await this.#until("the end of the run", () =>
        this.#records.find(({ type }, index) => type === "agent_settled" && index >= at),
      );
    }
  }

  async #close(): Promise<void> {
    await this.#idle();
    this.#child.stdin!.end();
    await this.#until("the end of the program", () => (this.#isClosed ? true : undefined));
  }

  async end(): Promise<void> {
    if (!this.#isClosed) await this.#close();
    assert.equal(this.#status, 0, this.#stderr);
    const asked = this.#records.filter(
      (record) =>
        isRequest(record, "input") &&
        record.extension === undefined &&
        /wants to/.test(String(record.title)) &&
        !this.scenario.denied.some((text) => String(record.title).includes(text)),
    );
    const failed = this.#records.filter(
      (record) =>
        record.type === "extension_error" &&
        !this.scenario.fails.some((text) => String(record.error).includes(text)),
    );
    const wrong = [
      ...this.#problems(),
      ...asked.map(({ title }) => `a permission is not listed: ${title}`),
      ...failed.map((record) => `an error of the extension: ${JSON.stringify(record)}`),
    ];
    if (wrong.length > 0) this.#fail(wrong.join("\n  "));
  }

  kill(): void {
    const { after } = this.scenario;
    if (after) execFileSync("/bin/sh", ["-ec", after], { cwd: this.#places.WORK, stdio: "pipe" });
    if (this.#child && !this.#isClosed) this.#child.kill("SIGKILL");
  }
}

function isRequest(record: Rec, method: string): boolean {
  return record.type === "extension_ui_request" && record.method === method;
}
