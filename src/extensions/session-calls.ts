/**
 * What an extension may ask of the session and do with it, as calls. What changes the conversation, or what it is held with, takes a
 * module the permission `session: write`; reading takes none.
 */
import * as v from "valibot";
import type { Rights } from "../../sandbox/broker/broker.ts";

/** What the session does for extensions. Methods reject with texts that an extension may see. */
export interface SessionActions {
  state(): {
    isIdle: boolean;
    hasPendingMessages: boolean;
    contextUsage: unknown;
    systemPrompt: string;
    name: string | undefined;
    file: string | undefined;
    thinkingLevel: string;
    /** Plain data (src/models/public.ts). */
    model: unknown;
    isProjectTrusted: boolean;
    leafId: string | null;
  };
  /** The same as in `state`, for who asks often. */
  model(): unknown;
  /** Of the session, without secrets. */
  settings(): unknown;
  /** As plain data, or a promise of it. */
  read(what: "entries" | "header"): unknown;
  commands(): unknown;
  sendMessage(message: SentMessage, options: SendOptions): Promise<void>;
  /** @param expand whether commands, skills and prompt templates mean what they mean when the user writes them */
  sendUserMessage(
    content: string | SentContent,
    deliverAs: "steer" | "followUp",
    expand: boolean,
  ): Promise<void>;
  setName(name: string): void;
  /** False if there is no such model. */
  setModel(provider: string, modelId: string): Promise<boolean>;
  setThinkingLevel(level: string): void;
  setLabel(entryId: string, label: string | undefined): void;
  /** Ends the program when nothing goes on any more. */
  shutdown(): void;
  abort(): void;
  compact(instructions: string | undefined): Promise<unknown>;
  waitForIdle(): Promise<void>;
  newSession(parentSession: string | undefined): Promise<unknown>;
  switchSession(path: string): Promise<unknown>;
  fork(entryId: string): Promise<unknown>;
  navigateTree(
    targetId: string,
    options: { summarize?: boolean; customInstructions?: string },
  ): Promise<unknown>;
  reload(): Promise<void>;
}

export type SentContent = (
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
)[];

export interface SentMessage {
  customType: string;
  content: string | SentContent;
  display: boolean;
  details?: unknown;
}

export interface SendOptions {
  deliverAs?: "steer" | "followUp" | "nextTurn";
  triggerTurn?: boolean;
}

const longText = v.pipe(v.string(), v.maxLength(4_000_000));
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const content = v.union([
  longText,
  v.pipe(
    v.array(
      v.variant("type", [
        v.object({ type: v.literal("text"), text: longText }),
        v.object({ type: v.literal("image"), data: longText, mimeType: name }),
      ]),
    ),
    v.maxLength(1000),
  ),
]);

type Actions = SessionActions | undefined;

interface SessionCall<S extends v.GenericSchema> {
  params: S;
  /** Whether a module needs the permission. */
  writes: boolean;
  run(actions: SessionActions, params: v.InferOutput<S>): unknown;
}

const reading = <S extends v.GenericSchema>(params: S, run: SessionCall<S>["run"]): SessionCall<S> => ({
  params,
  writes: false,
  run,
});
const writing = <S extends v.GenericSchema>(params: S, run: SessionCall<S>["run"]): SessionCall<S> => ({
  params,
  writes: true,
  run,
});
const none = v.nullish(v.unknown());

export const SESSION_CALLS = {
  "session.state": reading(none, (session) => session.state()),
  "session.read": reading(v.object({ what: v.picklist(["entries", "header"]) }), (session, { what }) =>
    session.read(what),
  ),
  "session.model": reading(none, (session) => session.model() ?? null),
  "session.settings": reading(none, (session) => session.settings()),
  "session.commands": reading(none, (session) => session.commands()),
  "session.waitForIdle": reading(none, (session) => session.waitForIdle()),
  "session.abort": reading(none, (session) => session.abort()),
  "session.reload": reading(none, (session) => session.reload()),
  "session.sendMessage": writing(
    v.object({
      message: v.object({
        customType: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
        content,
        display: v.optional(v.boolean(), true),
        details: v.optional(v.unknown()),
      }),
      deliverAs: v.nullish(v.picklist(["steer", "followUp", "nextTurn"])),
      triggerTurn: v.nullish(v.boolean()),
    }),
    (session, { message, deliverAs, triggerTurn }) =>
      session.sendMessage(message, {
        ...(deliverAs == null ? {} : { deliverAs }),
        ...(triggerTurn == null ? {} : { triggerTurn }),
      }),
  ),
  "session.sendUserMessage": writing(
    v.object({
      content,
      deliverAs: v.nullish(v.picklist(["steer", "followUp"])),
      expand: v.nullish(v.boolean()),
    }),
    (session, { content, deliverAs, expand }) =>
      session.sendUserMessage(content, deliverAs ?? "followUp", expand === true),
  ),
  "session.setName": writing(v.object({ name }), (session, params) => session.setName(params.name)),
  "session.setModel": writing(v.object({ provider: name, modelId: name }), async (session, params) => ({
    changed: await session.setModel(params.provider, params.modelId),
  })),
  "session.setThinkingLevel": writing(v.object({ level: name }), (session, { level }) =>
    session.setThinkingLevel(level),
  ),
  "session.setLabel": writing(
    v.object({ entryId: name, label: v.nullish(v.pipe(v.string(), v.maxLength(1000))) }),
    (session, { entryId, label }) => session.setLabel(entryId, label ?? undefined),
  ),
  "session.shutdown": writing(none, (session) => session.shutdown()),
  "session.compact": writing(v.object({ instructions: v.nullish(longText) }), (session, { instructions }) =>
    session.compact(instructions ?? undefined),
  ),
  "session.newSession": writing(v.object({ parentSession: v.nullish(name) }), (session, { parentSession }) =>
    session.newSession(parentSession ?? undefined),
  ),
  "session.switchSession": writing(v.object({ path: name }), (session, { path }) =>
    session.switchSession(path),
  ),
  "session.fork": writing(v.object({ entryId: name }), (session, { entryId }) => session.fork(entryId)),
  "session.navigateTree": writing(
    v.object({
      targetId: name,
      summarize: v.nullish(v.boolean()),
      customInstructions: v.nullish(longText),
    }),
    (session, { targetId, summarize, customInstructions }) =>
      session.navigateTree(targetId, {
        ...(summarize == null ? {} : { summarize }),
        ...(customInstructions == null ? {} : { customInstructions }),
      }),
  ),
} as const;

const nothing = (): never => {
  throw new Error("there is no session");
};

/** What is read where there is none: before it has begun, and in `xdev ext inspect`. */
const NO_SESSION: SessionActions = {
  state: () => ({
    isIdle: true,
    hasPendingMessages: false,
    contextUsage: undefined,
    systemPrompt: "",
    name: undefined,
    file: undefined,
    thinkingLevel: "off",
    model: undefined,
    isProjectTrusted: false,
    leafId: null,
  }),
  model: () => undefined,
  settings: () => ({}),
  read: (what) => (what === "entries" ? [] : null),
  commands: () => [],
  waitForIdle: async () => {},
  abort: () => {},
  reload: async () => {},
  sendMessage: nothing,
  sendUserMessage: nothing,
  setName: nothing,
  setModel: nothing,
  setThinkingLevel: nothing,
  setLabel: nothing,
  shutdown: nothing,
  compact: nothing,
  newSession: nothing,
  switchSession: nothing,
  fork: nothing,
  navigateTree: nothing,
};

/** Carries one out; rejects where there is no session, and for a module without the right. */
export async function answerSessionCall<S extends v.GenericSchema>(
  { writes, run }: SessionCall<S>,
  params: v.InferOutput<S>,
  actions: Actions,
  rights: Rights | undefined,
): Promise<unknown> {
  if (!actions) {
    if (writes) throw new Error("there is no session");
    return run(NO_SESSION, params);
  }
  if (writes) await rights?.demand({ kind: "session", access: "write" });
  return run(actions, params);
}
