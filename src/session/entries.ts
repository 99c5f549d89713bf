/** What extensions keep with a session: `custom` entries, never sent to the model (extension-api.md, appendEntry). */

export interface CustomEntry {
  type: "custom";
  id: string;
  timestamp: string;
  customType: string;
  data: unknown;
}

/** How much all entries of a session may hold, in characters of JSON. */
const LIMIT = 32 * 1024 * 1024;

/** The custom entries of a run that is not kept. */
export class MemoryEntries {
  readonly #entries: CustomEntry[] = [];
  #size = 0;

  /** Gives the entry's id. Throws when the session would hold too much. */
  append(customType: string, data: unknown): string {
    const size = (JSON.stringify(data) ?? "").length;
    if (this.#size + size > LIMIT)
      throw new Error(`a session holds at most ${LIMIT / 1024 / 1024} MB of entries`);
    this.#size += size;
    const id = crypto.randomUUID();
    this.#entries.push({ type: "custom", id, timestamp: new Date().toISOString(), customType, data });
    return id;
  }

  all(): readonly CustomEntry[] {
    return this.#entries;
  }
}
