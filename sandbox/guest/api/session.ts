/**
 * What an extension sees of the session and does with it (extension-api.md, "`pi`" and "`ctx`"). What is synchronous there is asked of the
 * host while the guest waits, once for each turn of its loop: within an event it is never stale, and what the extension changes is asked
 * anew.
 */

import type { GuestHost } from "../protocol.ts";
import { HOST_CALL } from "../protocol.ts";
import { describeError, type Transmitter } from "./transmit.ts";

const { parse, stringify } = JSON;
/** Taken once: an extension may replace the global. */
const { queueMicrotask: afterThis } = globalThis;

interface State {
  isIdle: boolean;
  hasPendingMessages: boolean;
  contextUsage?: unknown;
  systemPrompt: string;
  name?: string;
  file?: string;
  thinkingLevel: string;
  model?: unknown;
  isProjectTrusted?: boolean;
  leafId: string | null;
}

interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  targetId?: string;
  label?: string;
}

interface Header {
  id: string;
  cwd: string;
}

export class Session {
  readonly #host: Pick<GuestHost, "callSync">;
  readonly #transmitter: Transmitter;
  #known = new Map<string, unknown>();
  #forgets = false;
  /** Evaluated when an extension asks for it. */
  modelRegistry: () => unknown = () => undefined;

  constructor(host: Pick<GuestHost, "callSync">, transmitter: Transmitter) {
    this.#host = host;
    this.#transmitter = transmitter;
  }

  /** What the host says now; throws its reason. */
  askNow(method: string, params?: unknown): unknown {
    this.#transmitter.beforeSend();
    const key = stringify([method, params]);
    if (this.#known.has(key)) return this.#known.get(key);
    const reply = this.#host.callSync(HOST_CALL, stringify({ method, params }), undefined);
    if (reply.error !== undefined) {
      throw new Error((parse(reply.error) as { message: string }).message);
    }
    const value: unknown = parse(reply.text);
    this.#known.set(key, value);
    if (!this.#forgets) {
      this.#forgets = true;
      afterThis(() => this.forget());
    }
    return value;
  }

  /** What is known may have changed. */
  forget(): void {
    this.#forgets = false;
    if (this.#known.size > 0) this.#known = new Map();
  }

  /** Does something with the session. Throws at once for what can't be sent. */
  act(method: string, params?: unknown): Promise<unknown> {
    this.forget();
    return this.#transmitter.ask(method, params).finally(() => this.forget());
  }

  /** The same where nobody waits: a failure is for the log, but for what can't be sent: that is thrown. */
  tell(action: string, method: string, params?: unknown): void {
    let acted: Promise<unknown>;
    try {
      acted = this.act(method, params);
    } catch (error) {
      throw new TypeError(`${action}: ${describeError(error)}`);
    }
    acted.catch((error: unknown) => {
      this.#transmitter.log("error", `${action}: ${describeError(error)}`);
    });
  }

  /** As plain data, without what only the host may know of it; undefined without one. */
  get model(): unknown {
    return this.askNow("session.model") ?? undefined;
  }

  get state(): State {
    return this.askNow("session.state") as State;
  }

  get entries(): Entry[] {
    return this.askNow("session.read", { what: "entries" }) as Entry[];
  }

  get header(): Header | null {
    return this.askNow("session.read", { what: "header" }) as Header | null;
  }
}

/** `ctx.sessionManager`: it reads. */
export function sessionManager(session: Session): Record<string, unknown> {
  const branchTo = (leaf: string | null): Entry[] => {
    const byId = new Map(session.entries.map((entry) => [entry.id, entry]));
    const branch: Entry[] = [];
    for (let id = leaf; id !== null; ) {
      const entry = byId.get(id);
      // A circle in a damaged file has an end, too.
      if (!entry || branch.length > byId.size) break;
      branch.push(entry);
      id = entry.parentId;
    }
    return branch.reverse();
  };
  const entryOf = (id: unknown) => session.entries.find((entry) => entry.id === id);
  const folderOf = (file: string | undefined) => file?.replace(/[\\/][^\\/]*$/, "");
  return {
    getEntries: () => session.entries,
    getBranch: (fromId?: unknown) => branchTo(fromId === undefined ? session.state.leafId : String(fromId)),
    getTree() {
      const nodes = session.entries.map((entry) => ({ entry, children: [] as unknown[] }));
      const byId = new Map(nodes.map((node) => [node.entry.id, node]));
      return nodes.filter((node) => {
        const parent = node.entry.parentId === null ? undefined : byId.get(node.entry.parentId);
        parent?.children.push(node);
        return parent === undefined;
      });
    },
    getEntry: entryOf,
    getLeafId: () => session.state.leafId,
    getLeafEntry: () => entryOf(session.state.leafId),
    getLabel: (id: unknown) =>
      session.entries.findLast((entry) => entry.type === "label" && entry.targetId === id)?.label,
    getHeader: () => session.header,
    getSessionId: () => session.header?.id ?? "",
    getSessionFile: () => session.state.file,
    getSessionDir: () => folderOf(session.state.file),
    getSessionName: () => session.state.name,
    getCwd: () => session.header?.cwd ?? "",
  };
}

interface CompactOptions {
  customInstructions?: string;
  onComplete?: (result: unknown) => void;
  onError?: (error: unknown) => void;
}

/** Members of `ctx` in every handler and tool. */
export function sessionContext(session: Session): Record<string, unknown> {
  const manager = sessionManager(session);
  return {
    sessionManager: manager,
    getContextUsage: () => session.state.contextUsage,
    getSystemPrompt: () => session.state.systemPrompt,
    isIdle: () => session.state.isIdle,
    hasPendingMessages: () => session.state.hasPendingMessages,
    hasQueuedMessages: () => session.state.hasPendingMessages,
    isProjectTrusted: () => session.state.isProjectTrusted === true,
    abort: (): void => session.tell("ctx.abort()", "session.abort"),
    /** Ends the program when nothing goes on any more; needs the permission `session: write`. */
    shutdown: (): void => session.tell("ctx.shutdown()", "session.shutdown"),
    compact(options?: string | CompactOptions): void {
      const { customInstructions, onComplete, onError } =
        typeof options === "string" ? ({ customInstructions: options } as CompactOptions) : (options ?? {});
      const compacted = session.act("session.compact", { instructions: customInstructions });
      compacted.then(
        (result) => onComplete?.(result),
        (error: unknown) => onError?.(error),
      );
    },
  };
}
