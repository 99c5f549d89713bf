/**
 * What an extension with the feature `call` may ask of the host (wire-notes.md, "Features beyond v1"), the same on both
 * transports. Each call's parameters are checked before anything acts on them; an unknown method is an error.
 */
import * as v from "valibot";
import type { Rights } from "../../sandbox/broker/broker.ts";
import { stripControls } from "../base/text.ts";
import type { EventBus } from "./bus.ts";
import type { Extension } from "./extension.ts";
import { type CallFrame, channelName } from "./frame.ts";
import type { ModelRequests } from "./model-calls.ts";
import { type LoginQuestion, PROVIDER_CALLS } from "./provider-calls.ts";
import { answerSessionCall, SESSION_CALLS, type SessionActions } from "./session-calls.ts";

/** What the session offers. What is left out is answered as a session without it would: nobody to ask, nothing kept. */
export interface CallServices {
  notify(extension: string, message: string, level: string): void;
  setStatus?(extension: string, key: string, text: string | undefined): void;
  /** Lines beside the editor; without them the widget goes. */
  setWidget?(
    extension: string,
    key: string,
    lines: readonly string[] | undefined,
    placement: "aboveEditor" | "belowEditor" | undefined,
  ): void;
  setTitle?(extension: string, title: string): void;
  setEditorText?(extension: string, text: string): void;
  /** Without it dialogs give their defaults (undefined, false). */
  dialogs?: Dialogs;
  session?: SessionAccess;
  /** Undefined until the session has begun. */
  actions?(): SessionActions | undefined;
  tools?: ToolAccess;
  model?: ModelAccess;
  /** What extensions draw with: names of colours (`#rrggbb`, or a number of the 256). Without it, a dark theme. */
  theme?(): { name: string; fg: Record<string, string | number>; bg: Record<string, string | number> };
  /** What the command line says of a flag of an extension. */
  flag?(extension: string, name: string): boolean | string | undefined;
  bus?: EventBus;
  /** The user is being asked something, until the function that it gives is called. */
  onPrompt?(kind: PromptKind, title: string): () => void;
  /** Shows or asks what a module's `login` wants; only while the user is logging in with that module. */
  loginQuestion?(extension: Extension, question: LoginQuestion): Promise<string | undefined>;
}

export type PromptKind = "select" | "confirm" | "input" | "editor";

export interface ModelAccess {
  /** One request to the session's model; gives the text of its answer. Rejects with a text for the extension: no key in it. */
  complete(
    prompt: string,
    systemPrompt: string | undefined,
    maxTokens: number | undefined,
    signal: AbortSignal,
  ): Promise<string>;
  /** Requests to any model that can be used. */
  requests?: ModelRequests;
}

export interface DialogOptions {
  /** After so many ms there is no answer; whoever is asked may be told. */
  timeoutMs?: number | undefined;
  /** Aborted when nobody waits for the answer any more. */
  signal?: AbortSignal | undefined;
}

export interface Dialogs {
  select(
    extension: string,
    title: string,
    options: readonly string[],
    more?: DialogOptions,
  ): Promise<string | undefined>;
  confirm(extension: string, title: string, message: string, more?: DialogOptions): Promise<boolean>;
  input(
    extension: string,
    title: string,
    placeholder: string | undefined,
    more?: DialogOptions,
  ): Promise<string | undefined>;
  editor(
    extension: string,
    title: string,
    text: string | undefined,
    more?: DialogOptions,
  ): Promise<string | undefined>;
}

export interface SessionAccess {
  info(): { cwd: string; sessionId: string; model: string | null };
  /** A `custom` entry: kept with the session, never sent to the model. Gives its id. */
  append(extension: string, customType: string, data: unknown): string;
  /** The session's custom entries, oldest first. */
  entries(): unknown[] | Promise<unknown[]>;
}

export interface ToolAccess {
  all(): { name: string; description: string; [member: string]: unknown }[];
  active(): string[];
  /** Throws for a name that no tool has. */
  setActive(names: readonly string[]): void;
}

const text = v.pipe(v.string(), v.maxLength(100_000));
const longText = v.pipe(v.string(), v.maxLength(4_000_000));
const optionalText = v.nullish(text);
const none = v.nullish(v.unknown());

type Call<S extends v.GenericSchema> = {
  params: S;
  run(
    extension: Extension,
    params: v.InferOutput<S>,
    services: CallServices,
    asking: () => () => void,
    rights: Rights | undefined,
  ): unknown;
};
const define = <S extends v.GenericSchema>(call: Call<S>): Call<S> => call;

/** What any dialog may have: a name, by which it is dismissed, and how long it may stand, in ms. */
const dialogParams = {
  key: v.nullish(v.pipe(v.string(), v.maxLength(100))),
  timeout: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(2_147_483_647))),
};

/** So many questions of one extension may stand at a time: a further one is an error. The user has no use for more, and others ask, too. */
const MAX_QUESTIONS = 16;

interface Question {
  key: string | null | undefined;
  dismissal: AbortController;
}

/** The questions of each extension that stand. */
const standing = new WeakMap<Extension, Set<Question>>();

/** Takes back what an extension asks: all that has that name; without one, everything, since nobody is there for an answer. */
export function dismissQuestions(extension: Extension, key?: string): void {
  for (const question of [...(standing.get(extension) ?? [])]) {
    if (key === undefined || question.key === key) question.dismissal.abort();
  }
}

/** Asks the user, with the extension's clocks standing still. */
async function ask<T>(
  extension: Extension,
  asking: () => () => void,
  { key, timeout }: { key?: string | null | undefined; timeout?: number | null | undefined },
  question: (more: DialogOptions) => Promise<T>,
  told?: () => void,
): Promise<T> {
  const own = standing.get(extension) ?? new Set();
  standing.set(extension, own);
  if (own.size >= MAX_QUESTIONS) {
    told?.();
    throw new Error(`${MAX_QUESTIONS} questions to the user stand already`);
  }
  const one: Question = { key, dismissal: new AbortController() };
  own.add(one);
  const over = asking();
  try {
    return await question({ signal: one.dismissal.signal, timeoutMs: timeout ?? undefined });
  } finally {
    over();
    told?.();
    own.delete(one);
  }
}

function sessionOf(session: SessionAccess | undefined): SessionAccess {
  if (session) return session;
  throw new Error("there is no session");
}

const CALLS = {
  "ui.notify": define({
    params: v.object({ message: text, level: optionalText }),
    run: ({ name }, { message, level }, services) =>
      services.notify(name, stripControls(message), stripControls(level ?? "info")),
  }),
  "ui.setStatus": define({
    params: v.object({ key: text, text: optionalText }),
    run: ({ name }, params, services) =>
      services.setStatus?.(
        name,
        stripControls(params.key),
        params.text == null ? undefined : stripControls(params.text),
      ),
  }),
  "ui.setWidget": define({
    params: v.object({
      key: text,
      lines: v.nullish(v.pipe(v.array(text), v.maxLength(1000))),
      placement: v.nullish(v.picklist(["aboveEditor", "belowEditor"])),
    }),
    run: ({ name }, { key, lines, placement }, services) =>
      services.setWidget?.(name, stripControls(key), lines?.map(stripControls), placement ?? undefined),
  }),
  "ui.setTitle": define({
    params: v.object({ title: text }),
    run: ({ name }, { title }, services) => services.setTitle?.(name, stripControls(title)),
  }),
  "ui.setEditorText": define({
    params: v.object({ text: longText }),
    run: ({ name }, params, services) => services.setEditorText?.(name, stripControls(params.text)),
  }),
  "ui.select": define({
    params: v.object({ title: text, options: v.pipe(v.array(text), v.maxLength(1000)), ...dialogParams }),
    run: (extension, { title, options, ...more }, { dialogs, onPrompt }, asking) =>
      dialogs &&
      ask(
        extension,
        asking,
        more,
        (given) => dialogs.select(extension.name, stripControls(title), options.map(stripControls), given),
        onPrompt?.("select", title),
      ),
  }),
  "ui.confirm": define({
    params: v.object({ title: text, message: optionalText, ...dialogParams }),
    run: (extension, { title, message, ...more }, { dialogs, onPrompt }, asking) =>
      dialogs
        ? ask(
            extension,
            asking,
            more,
            (given) =>
              dialogs.confirm(extension.name, stripControls(title), stripControls(message ?? ""), given),
            onPrompt?.("confirm", title),
          )
        : false,
  }),
  "ui.input": define({
    params: v.object({ title: text, placeholder: optionalText, ...dialogParams }),
    run: (extension, { title, placeholder, ...more }, { dialogs, onPrompt }, asking) =>
      dialogs &&
      ask(
        extension,
        asking,
        more,
        (given) => {
          const shown = placeholder == null ? undefined : stripControls(placeholder);
          return dialogs.input(extension.name, stripControls(title), shown, given);
        },
        onPrompt?.("input", title),
      ),
  }),
  "ui.editor": define({
    params: v.object({ title: text, text: optionalText, ...dialogParams }),
    run: (extension, { title, text: prefill, ...more }, { dialogs, onPrompt }, asking) =>
      dialogs &&
      ask(
        extension,
        asking,
        more,
        (given) =>
          dialogs.editor(
            extension.name,
            stripControls(title),
            prefill == null ? undefined : stripControls(prefill),
            given,
          ),
        onPrompt?.("editor", title),
      ),
  }),
  "ui.dismiss": define({
    params: v.object({ key: v.pipe(v.string(), v.maxLength(100)) }),
    run: (extension, { key }) => dismissQuestions(extension, key),
  }),
  "ui.theme": define({ params: none, run: (_extension, _params, { theme }) => theme?.() ?? null }),
  "flags.get": define({
    params: v.object({ name: v.pipe(v.string(), v.maxLength(128)) }),
    run: ({ name: extension }, { name }, { flag }) => flag?.(extension, name),
  }),
  "events.listen": define({
    params: v.object({ channels: v.pipe(v.array(channelName), v.maxLength(1000)) }),
    run: (extension, { channels }, { bus }) => bus?.listen(extension, channels),
  }),
  "events.emit": define({
    params: v.object({
      events: v.pipe(
        v.array(v.object({ channel: channelName, data: v.optional(v.unknown()) })),
        v.maxLength(1000),
      ),
    }),
    run: (extension, { events }, { bus }) => bus?.emit(extension, events.map(busEvent(extension))),
  }),
  "session.info": define({
    params: none,
    run: (_extension, _params, { session }) => session?.info() ?? null,
  }),
  "session.append": define({
    params: v.object({
      customType: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      data: v.optional(v.unknown()),
    }),
    async run({ name }, { customType, data }, { session }, _asking, rights) {
      await rights?.demand({ kind: "session", access: "write" });
      return { id: sessionOf(session).append(name, customType, data) };
    },
  }),
  "session.entries": define({
    params: none,
    run: (_extension, _params, { session }) => session?.entries() ?? [],
  }),
  "tools.all": define({ params: none, run: (_extension, _params, { tools }) => tools?.all() ?? [] }),
  "tools.active": define({ params: none, run: (_extension, _params, { tools }) => tools?.active() ?? [] }),
  "tools.setActive": define({
    params: v.object({ names: v.pipe(v.array(text), v.maxLength(1000)) }),
    async run(_extension, { names }, { tools }, _asking, rights) {
      // To take tools away only prevents; what is off may be off because the user or another extension wants it so.
      if (!rights || !tools) return tools?.setActive(names);
      // Modules name tools of other agents, too, for where those are there.
      const known = new Set(tools.all().map(({ name }) => name));
      const active = tools.active();
      const wanted = names.filter((name) => known.has(name));
      if (wanted.some((name) => !active.includes(name))) {
        await rights.demand({ kind: "session", access: "write" });
      }
      tools.setActive(wanted);
    },
  }),
  "model.complete": define({
    params: v.object({
      prompt: longText,
      systemPrompt: v.nullish(longText),
      maxTokens: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000))),
    }),
    async run({ life }, { prompt, systemPrompt, maxTokens }, { model }, _asking, rights) {
      if (!rights)
        throw new Error("model.complete is for modules: a process extension has no permissions yet");
      await rights.demand({ kind: "model" });
      if (!model) throw new Error("there is no model");
      return { text: await model.complete(prompt, systemPrompt ?? undefined, maxTokens ?? undefined, life) };
    },
  }),
  ...PROVIDER_CALLS,
  "permissions.list": define({ params: none, run: () => [] }),
};

/** A module sends texts, which are not read here; a process the values themselves. */
function busEvent({ kind }: Extension) {
  return ({ channel, data }: { channel: string; data?: unknown }) => {
    if (data === undefined || kind === "process") {
      return { channel, data: data === undefined ? undefined : JSON.stringify(data) };
    }
    if (typeof data !== "string") throw new Error("events.emit: data: is no JSON text");
    return { channel, data };
  };
}

/** Those of model-calls.ts, which is loaded when one of them comes. */
const MODEL_METHODS: ReadonlySet<string> = new Set<keyof typeof import("./model-calls.ts").MODEL_CALLS>([
  "models.known",
  "model.mayUse",
  "model.stream",
  "model.next",
  "model.abort",
]);

/** The names of all methods. */
export const CALL_METHODS: readonly string[] = [
  ...Object.keys(CALLS),
  ...Object.keys(SESSION_CALLS),
  ...MODEL_METHODS,
];

/**
 * Answers a call; rejects with the text that the extension gets as its `error`. `rights` are those of a module; without them it
 * is a process extension, which has the user's.
 */
export async function answerCall(
  extension: Extension,
  frame: CallFrame,
  services: CallServices,
  asking: () => () => void,
  rights?: Rights,
): Promise<unknown> {
  const { method } = frame;
  if (Object.hasOwn(SESSION_CALLS, method)) {
    const call = SESSION_CALLS[method as keyof typeof SESSION_CALLS];
    const given = checked(method, call.params, frame.params);
    return answerSessionCall(call as never, given as never, services.actions?.(), rights);
  }
  if (MODEL_METHODS.has(method)) {
    const { MODEL_CALLS } = await import("./model-calls.ts");
    const { params, run } = MODEL_CALLS[method as keyof typeof MODEL_CALLS];
    const given = checked(method, params as v.GenericSchema, frame.params);
    return run(extension, given as never, services.model?.requests, rights);
  }
  if (!Object.hasOwn(CALLS, method)) throw new Error(`unknown method ${method.slice(0, 60)}`);
  const call = CALLS[method as keyof typeof CALLS] as unknown as Call<v.GenericSchema>;
  return call.run(extension, checked(method, call.params, frame.params), services, asking, rights);
}

/** Throws what is wrong, for the extension to read. */
function checked<S extends v.GenericSchema>(method: string, schema: S, given: unknown): v.InferOutput<S> {
  const params = v.safeParse(schema, given, { abortEarly: true });
  if (params.success) return params.output;
  const issue = params.issues[0];
  const path = v.getDotPath(issue);
  throw new Error(`${method}: ${path ? `${path}: ` : ""}${issue.message}`);
}
