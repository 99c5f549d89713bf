/**
 * What the parts of a session share: its state, and the ways in which it tells of changes. Each part is a file beside this one and
 * acts on it; agent-session.ts is the outside of it all.
 */
import type { AgentMessage, StreamFn, ThinkingLevel } from "@earendil-works/pi-agent-core";
import type { Api, Model, SystemMessage } from "@earendil-works/pi-ai";
import { toToolDeclaration } from "@earendil-works/pi-ai/utils/transcript";
import { errorText, XdevError } from "../../base/errors.ts";
import { log } from "../../base/log.ts";
import type { EventSender } from "../../extensions/event-sender.ts";
import type { HookEvent } from "../../hooks/events.ts";
import type { ResolvedModel } from "../../models/index.ts";
import type { SessionStore } from "../../session/store.ts";
import type { NewEntry, SessionContext } from "../../session/types.ts";
import {
  DEFAULT_SESSION_SETTINGS,
  type SessionEvent,
  type SessionListener,
  type SessionSettings,
} from "../agent-session-types.ts";
import { messageText } from "../messages.ts";
import type { AgentSessionOptions } from "./options.ts";
import { Queue } from "./queue.ts";
import type { Resources } from "./resources.ts";
import type { Run } from "./run.ts";

export class Core {
  readonly options: AgentSessionOptions;
  readonly settings: SessionSettings;
  readonly events: EventSender | undefined;
  readonly steering: Queue;
  readonly followUps: Queue;
  store: SessionStore;
  /** The conversation as requests have it; the system prompt with the tools comes first, and is no part of the session's file. */
  messages: AgentMessage[] = [];
  /** From here on in `messages`, what answers say of their usage is about the context as it is now. */
  freshFrom = 0;
  model: ResolvedModel | undefined;
  thinkingLevel: ThinkingLevel = "off";
  systemPrompt: string;
  /** What the branch says of the model and the level. */
  recorded: Pick<SessionContext, "model" | "thinkingLevel"> = { model: null, thinkingLevel: "off" };
  /** What joins the user's next prompt. */
  nextTurn: AgentMessage[] = [];
  /** Messages that came while a run went on and that are in no queue: they follow it. */
  afterRun: AgentMessage[] = [];
  run: Run | undefined;
  /** A compaction, or a summary of a branch. */
  compacting: { abort: AbortController; done: Promise<void>; isManual: boolean } | undefined;
  turnsExhausted = false;
  isDisposed = false;
  /** Another session is to be opened; `leaving`: what goes on is being ended for it, and nothing begins meanwhile. */
  moving: "asking" | "leaving" | undefined;
  /** What was asked to be reloaded so far; settles when all is done. */
  reloads: Promise<unknown> | undefined;
  /** Extensions are being exchanged: no run begins meanwhile. */
  exchanging: Promise<unknown> | undefined;
  resources: Resources | undefined;

  readonly #listeners = new Set<SessionListener>();
  /** Listeners that can take no more for now. */
  #busy: Promise<void>[] = [];
  readonly #streams = new WeakMap<Model<Api>, StreamFn>();

  constructor(options: AgentSessionOptions) {
    this.options = options;
    this.store = options.store;
    this.systemPrompt = options.systemPrompt;
    this.events = options.manager?.events;
    const { settings = {} } = options;
    const defaults = DEFAULT_SESSION_SETTINGS;
    this.settings = {
      ...defaults,
      ...settings,
      compaction: { ...defaults.compaction, ...settings.compaction },
      retry: { ...defaults.retry, ...settings.retry },
    };
    const changed = () =>
      this.emit({ type: "queue_update", steering: this.steering.texts, followUp: this.followUps.texts });
    this.steering = new Queue(this.settings.steeringMode, changed);
    this.followUps = new Queue(this.settings.followUpMode, changed);
  }

  subscribe(listener: SessionListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells listeners; extensions are told by `publish`. */
  emit(event: SessionEvent): void {
    for (const listener of this.#listeners) {
      try {
        const busy = listener(event);
        if (busy) this.#busy.push(busy);
      } catch (error) {
        log.error(`a listener of the session failed at ${event.type}: ${errorText(error)}`);
      }
    }
  }

  /** Undefined if all listeners keep up; otherwise resolves when they have caught up. */
  listenersReady(): Promise<unknown> | undefined {
    if (this.#busy.length === 0) return undefined;
    return Promise.allSettled(this.#busy.splice(0));
  }

  /** Tells listeners, and the extensions that listen to the event of that name. */
  publish(event: Extract<SessionEvent, { type: Parameters<EventSender["emit"]>[0] }>): void {
    this.emit(event);
    if (this.events?.listens(event.type)) this.events.emit(event.type, event);
  }

  /** Throws `XdevError` `closed` once the session has ended: whoever still holds it begins nothing any more. `busy` while it is left. */
  mustBeOpen(): void {
    if (this.isDisposed) throw new XdevError("closed", "the session is closed");
    if (this.moving === "leaving")
      throw new XdevError("busy", "another session is being opened: wait for it");
  }

  tellHooks(event: HookEvent, payload?: Record<string, unknown>): void {
    this.options.hooks?.emit(event, payload);
  }

  notice(text: string): void {
    this.emit({ type: "notice", text });
  }

  /** Prompts that are looked at before they start or join a run. */
  readonly accepting = new Set<AbortController>();

  setResolved(model: ResolvedModel | undefined): void {
    this.model = model;
    if (model) this.#streams.set(model.model, model.stream);
    this.options.onModel?.(model);
  }

  /** How a model is asked, whichever is the session's by now: a request goes to the model that it was made for. */
  streamOf(model: Model<Api>): StreamFn {
    const stream = this.#streams.get(model) ?? this.model?.stream;
    if (!stream) throw new Error(`there is no way to ask ${model.provider}/${model.id}`);
    return stream;
  }

  /**
   * Keeps an entry and gives its id. What a session can't hold is told and not kept: the conversation goes on.
   */
  keep(entry: NewEntry): string | undefined {
    try {
      return this.store.append(entry);
    } catch (error) {
      this.notice(`the session does not keep an entry: ${errorText(error)}`);
      return undefined;
    }
  }

  /** Keeps a message of the conversation. The system prompt is made anew for each run, so it is none. */
  keepMessage(message: AgentMessage): string | undefined {
    switch (message.role) {
      case "system":
      case "compactionSummary":
      case "branchSummary":
        return undefined;
      case "custom": {
        const { customType, content, display, details } = message;
        return this.keep({
          type: "custom_message",
          customType,
          content,
          display,
          ...(details === undefined ? {} : { details }),
        });
      }
      case "aside":
        return this.keep({
          type: "custom_message",
          customType: "aside",
          content: message.text,
          display: true,
          details: { extension: message.extension },
        });
      default:
        return this.keep({ type: "message", message });
    }
  }

  /** A message of the conversation that comes from no run: it is there at once, or behind the run that goes on. */
  add(message: AgentMessage): void {
    if (this.run) return void this.afterRun.push(message);
    this.messages.push(message);
    this.keepMessage(message);
    this.emit({ type: "message_start", message });
    this.emit({ type: "message_end", message });
  }

  /** Takes the conversation from the store, with the system prompt and the tools as they are now. */
  rebuild({ messages } = this.store.buildContext()): void {
    this.messages = [this.leadingMessage(), ...messages.filter(({ role }) => role !== "system")];
    this.freshFrom = freshFrom(this.store, this.messages.length);
  }

  leadingMessage(systemPrompt: string = this.systemPrompt): SystemMessage {
    const tools = this.options.tools.active().map(toToolDeclaration);
    return {
      role: "system",
      content: this.#withToolNotes(systemPrompt),
      ...(tools.length > 0 ? { toolsAdded: tools } : {}),
      timestamp: 0,
    };
  }

  /** Says the system prompt of the next requests, and nothing if it is said already. */
  setSystemPrompt(text: string): void {
    const [first] = this.messages;
    if (first?.role !== "system") this.messages.unshift(this.leadingMessage(text));
    else {
      const content = this.#withToolNotes(text);
      if (messageText(first) !== content) this.messages[0] = { ...first, content };
    }
  }

  /** With what extensions say of their tools that are active. */
  #withToolNotes(systemPrompt: string): string {
    const notes = new Set<string>();
    for (const tool of this.options.tools.active()) {
      if (tool.promptSnippet) notes.add(`${tool.name}: ${tool.promptSnippet}`);
      for (const line of tool.promptGuidelines ?? []) if (line !== "") notes.add(line);
    }
    if (notes.size === 0) return systemPrompt;
    const lines = [...notes].map((note) => `- ${note}`).join("\n");
    return `${systemPrompt}\n\nOn the tools of extensions:\n${lines}`;
  }

  /** Undoes what a failed attempt added to the context; in the file it stays, marked. */
  omit({ message, entryId }: { message: AgentMessage; entryId: string | undefined }): void {
    const at = this.messages.lastIndexOf(message);
    if (at !== -1) this.messages.splice(at, 1);
    if (entryId !== undefined) this.keep({ type: "context_edit", targetId: entryId, replacement: null });
  }
}

/** Where what answers say of their usage begins to be true: behind a summary, only of what came after it. */
function freshFrom(store: SessionStore, length: number): number {
  const omitted = new Map<string, boolean>();
  let since = 0;
  for (const id of store.getBranchIds().reverse()) {
    const { type, role } = store.typeOf(id) ?? {};
    if (type === "compaction") return length - since;
    if (type === "reset_boundary") return 0;
    if (type === "context_edit") {
      const entry = store.getEntry(id);
      if (entry?.type === "context_edit" && !omitted.has(entry.targetId)) {
        omitted.set(entry.targetId, entry.replacement === null);
      }
    }
    const isMessage =
      type === "custom_message" || type === "branch_summary" || (type === "message" && role !== "system");
    if (isMessage && omitted.get(id) !== true) since++;
  }
  return 0;
}
