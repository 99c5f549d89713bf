/** What is kept in memory of every entry: where it is, what it follows, and what names and labels say. Bodies stay in the file. */
import { idOfPlace } from "./migrate.ts";
import type { RawEntry } from "./schema.ts";
import type { SessionProblem } from "./types.ts";

export interface Slot {
  readonly id: string;
  /** The place of the entry before this one on its branch; -1 if there is none. */
  parent: number;
  readonly type: string;
  /** Of a message. */
  readonly role: string | undefined;
  /** The line's first byte in the file; -1 while it is not written. */
  at: number;
  /** In bytes, without the line's end. */
  size: number;
  /** The line itself while no file has it. */
  line: string | undefined;
}

export interface Label {
  label: string;
  timestamp: string;
}

export type Place = Pick<Slot, "at" | "size" | "line">;

interface Orphan {
  place: number;
  parentId: string;
  /** Whether something that can't be read stands right before it. */
  followsGap: boolean;
  line: number | undefined;
}

export class EntryIndex {
  readonly slots: Slot[] = [];
  readonly labels = new Map<string, Label>();
  /** The name that the last `session_info` gives, and the place of that line. */
  name: { name: string | undefined; timestamp: string; at: number; id: string } | undefined;
  readonly #byId = new Map<string, number>();
  readonly #report: (problem: SessionProblem) => void;
  /** One text for each type and role, whatever number of entries has it. */
  readonly #words = new Map<string, string>();
  #orphans: Orphan[] = [];
  #followsGap = false;

  constructor(report: (problem: SessionProblem) => void) {
    this.#report = report;
  }

  placeOf(id: string): number | undefined {
    return this.#byId.get(id);
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Something stood here that can't be read: what comes next may have followed it. */
  gap(): void {
    this.#followsGap = true;
  }

  /** Adds an entry as it stands in the file of a session with this id and version. `line` is its line's number. */
  addRead(raw: RawEntry, where: Place, session: { id: string; version: number }, line?: number): void {
    const place = this.slots.length;
    let id = raw.id ?? idOfPlace(session.id, place);
    if (this.#byId.has(id)) {
      this.#report({ kind: "duplicate-id", line, message: "two entries have one id; the later got another" });
      id = this.freeId((n) => idOfPlace(session.id, place + n * 1e9));
    }
    let parent = -1;
    if (raw.parentId === undefined && session.version < 2) parent = place - 1;
    else if (raw.parentId) {
      const known = this.#byId.get(raw.parentId);
      if (known !== undefined) parent = known;
      else this.#orphans.push({ place, parentId: raw.parentId, followsGap: this.#followsGap, line });
    }
    this.#followsGap = false;
    this.add(id, parent, raw, where);
  }

  /** Adds an entry whose id nobody has. */
  add(id: string, parent: number, raw: RawEntry, where: Place): void {
    const message =
      raw.type === "message" ? (raw.message as { role?: unknown } | null | undefined) : undefined;
    const role = typeof message?.role === "string" ? this.#word(message.role) : undefined;
    this.#byId.set(id, this.slots.length);
    this.slots.push({ id, parent, type: this.#word(raw.type), role, ...where });
    const timestamp = raw.timestamp ?? "";
    if (raw.type === "session_info") {
      const name = typeof raw.name === "string" ? raw.name : undefined;
      this.name = { name: name?.trim() || undefined, timestamp, at: where.at, id };
    } else if (raw.type === "label" && typeof raw.targetId === "string") {
      if (typeof raw.label === "string" && raw.label)
        this.labels.set(raw.targetId, { label: raw.label, timestamp });
      else this.labels.delete(raw.targetId);
    }
  }

  /** An entry was written. */
  placed({ id, at }: Slot): void {
    if (this.name?.id === id) this.name.at = at;
  }

  /** An id that no entry has, of those that `make` gives for 0, 1, 2, …. */
  freeId(make: (n: number) => string): string {
    for (let n = 0; ; n++) {
      const id = make(n);
      if (!this.#byId.has(id)) return id;
    }
  }

  /** After all lines were read: finds the parents that come later or never, and opens circles. */
  settle(): void {
    const orphans = this.#orphans;
    if (orphans.length === 0) return;
    this.#orphans = [];
    /** What stands in for a parent that can't be read. */
    const standIns = new Map<string, number>();
    for (const { place, parentId, followsGap, line } of orphans) {
      const slot = this.slots[place]!;
      const parent = this.#byId.get(parentId);
      if (parent !== undefined) {
        slot.parent = parent;
        continue;
      }
      if (followsGap && place > 0 && !standIns.has(parentId)) standIns.set(parentId, place - 1);
      slot.parent = standIns.get(parentId) ?? -1;
      const message =
        slot.parent < 0
          ? "the entry before this one is missing: it begins a branch of its own"
          : "the entry before this one can't be read: it follows the one before that";
      this.#report({ kind: "missing-parent", line, message });
    }
    this.#openCircles();
  }

  #openCircles(): void {
    const { slots } = this;
    /** 0: not seen; else the number of the walk that came by. */
    const seen = new Uint32Array(slots.length);
    for (let start = 0; start < slots.length; start++) {
      let at = start;
      while (at >= 0 && seen[at] === 0) {
        seen[at] = start + 1;
        at = slots[at]!.parent;
      }
      if (at < 0 || seen[at] !== start + 1) continue;
      // This walk has come back to itself: the first entry of the circle becomes a beginning.
      let first = at;
      for (let on = slots[at]!.parent; on !== at; on = slots[on]!.parent) first = Math.min(first, on);
      slots[first]!.parent = -1;
      this.#report({
        kind: "cycle",
        message: "entries follow each other in a circle; the first begins a branch",
      });
    }
  }

  #word(text: string): string {
    const known = this.#words.get(text);
    if (known !== undefined) return known;
    this.#words.set(text, text);
    return text;
  }
}
