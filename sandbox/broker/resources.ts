import { CallError, type Resources } from "./broker.ts";

interface Entry {
  readonly kind: string;
  readonly value: unknown;
  readonly close: () => void | Promise<void>;
}

/**
 * What is open for one extension. Numbers start at 1 and are never used again, so that a late call on one that was closed
 * finds nothing instead of something else.
 */
export class OpenResources implements Resources {
  readonly #entries = new Map<number, Entry>();
  readonly #counts = new Map<string, number>();
  readonly #closing = new Set<Promise<void>>();
  readonly #limit: number;
  #next = 1;
  #ended = false;

  /** `limit`: how many of each kind may be open. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(kind: string, value: unknown, close: () => void | Promise<void>): number {
    const count = this.#counts.get(kind) ?? 0;
    const refusal = this.#ended
      ? new CallError("ECANCELED", "ECANCELED: the extension has ended")
      : count >= this.#limit
        ? new CallError("EMFILE", `EMFILE: too many open: an extension may have ${this.#limit} of each kind`)
        : undefined;
    if (refusal) {
      // The caller has it open already, and nobody else knows of it.
      void this.#run(close);
      throw refusal;
    }
    const id = this.#next++;
    this.#entries.set(id, { kind, value, close });
    this.#counts.set(kind, count + 1);
    return id;
  }

  get<T>(kind: string, id: number): T {
    const entry = this.#entries.get(id);
    if (entry?.kind !== kind) throw new CallError("EBADF", "EBADF: bad file descriptor");
    return entry.value as T;
  }

  async remove(kind: string, id: number): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry?.kind !== kind) return;
    this.#entries.delete(id);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 1) - 1);
    await this.#run(entry.close);
  }

  /** Closes everything, also what is added from now on. Resolves when all of it is closed; never rejects. */
  async end(): Promise<void> {
    this.#ended = true;
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#counts.clear();
    for (const entry of entries) void this.#run(entry.close);
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }

  /** What goes wrong while something is closed is nobody's business: there is nothing left to do about it. */
  #run(close: () => void | Promise<void>): Promise<void> {
    const done = (async () => close())().then(
      () => {},
      () => {},
    );
    this.#closing.add(done);
    return done.finally(() => this.#closing.delete(done));
  }
}
