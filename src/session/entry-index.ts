/** What is kept in memory of every entry: where it is, what it follows, and what names and labels say. Bodies stay in the file. */
import { Column, Words } from "./columns.ts";
import { Ids } from "./ids.ts";
import { idOfPlace } from "./migrate.ts";
import type { RawEntry } from "./schema.ts";
import type { SessionProblem } from "./types.ts";

export interface Label {
  label: string;
  timestamp: string;
}

/** Where an entry's line is. */
export interface Where {
  /** The line's first byte in the file; -1 while it is not written. */
  at: number;
  /** In bytes, without the line's end. */
  size: number;
  /** The line itself while no file has it. */
  line?: string;
}

interface Orphan {
  place: number;
  parentId: string;
  /** Whether something that can't be read stands right before it. */
  followsGap: boolean;
  line: number | undefined;
}

export class EntryIndex {
  readonly labels = new Map<string, Label>();
  /** The name that the last `session_info` gives, and the place of that line. */
  name: { name: string | undefined; timestamp: string; at: number; place: number } | undefined;
  readonly #ids = new Ids();
  /** The place of the entry before each one on its branch; -1 if there is none. */
  readonly #parents = new Column((length) => new Int32Array(length));
  readonly #starts = new Column((length) => new Float64Array(length));
  readonly #sizes = new Column((length) => new Int32Array(length));
  readonly #types = new Column((length) => new Uint16Array(length));
  readonly #roles = new Column((length) => new Uint16Array(length));
  readonly #words = new Words();
  readonly #noRole = this.#words.numberOf("");
  /** The lines that no file has. */
  readonly #lines = new Map<number, string>();
  readonly #report: (problem: SessionProblem) => void;
  #orphans: Orphan[] = [];
  #followsGap = false;

  constructor(report: (problem: SessionProblem) => void) {
    this.#report = report;
  }

  /** How many entries there are; their places are the numbers below that. */
  get length(): number {
    return this.#ids.length;
  }

  idAt(place: number): string | undefined {
    return this.#ids.at(place);
  }

  parentAt(place: number): number {
    return this.#parents.get(place)!;
  }

  typeAt(place: number): string {
    return this.#words.word(this.#types.get(place)!);
  }

  /** Of a message. */
  roleAt(place: number): string | undefined {
    return this.#words.word(this.#roles.get(place)!) || undefined;
  }

  whereAt(place: number): Where {
    const line = this.#lines.get(place);
    if (line !== undefined) return { at: -1, size: 0, line };
    return { at: this.#starts.get(place)!, size: this.#sizes.get(place)! };
  }

  /** The entry's line was written. */
  placed(place: number, where: { at: number; size: number }): void {
    this.#starts.set(place, where.at);
    this.#sizes.set(place, where.size);
    this.#lines.delete(place);
    if (this.name?.place === place) this.name.at = where.at;
  }

  placeOf(id: string): number | undefined {
    return this.#ids.placeOf(id);
  }

  has(id: string): boolean {
    return this.#ids.placeOf(id) !== undefined;
  }

  /** Something stood here that can't be read: what comes next may have followed it. */
  gap(): void {
    this.#followsGap = true;
  }

  /** Adds an entry as it stands in the file of a session with this id and version. `line` is its line's number. */
  addRead(raw: RawEntry, where: Where, session: { id: string; version: number }, line?: number): void {
    const place = this.length;
    let id = raw.id ?? idOfPlace(session.id, place);
    if (this.#ids.placeOf(id) !== undefined) {
      this.#report({ kind: "duplicate-id", line, message: "two entries have one id; the later got another" });
      id = this.freeId((n) => idOfPlace(session.id, place + n * 1e9));
    }
    let parent = -1;
    if (raw.parentId === undefined && session.version < 2) parent = place - 1;
    else if (raw.parentId) {
      const known = this.#ids.placeOf(raw.parentId);
      if (known !== undefined) parent = known;
      else this.#orphans.push({ place, parentId: raw.parentId, followsGap: this.#followsGap, line });
    }
    this.#followsGap = false;
    this.add(id, parent, raw, where);
  }

  /** Adds an entry whose id nobody has. */
  add(id: string, parent: number, raw: RawEntry, where: Where): void {
    const message =
      raw.type === "message" ? (raw.message as { role?: unknown } | null | undefined) : undefined;
    const role = typeof message?.role === "string" ? this.#words.numberOf(message.role) : this.#noRole;
    const place = this.#ids.push(id);
    this.#parents.set(place, parent);
    this.#starts.set(place, where.at);
    this.#sizes.set(place, where.size);
    this.#types.set(place, this.#words.numberOf(raw.type));
    this.#roles.set(place, role);
    if (where.line !== undefined) this.#lines.set(place, where.line);
    const timestamp = raw.timestamp ?? "";
    if (raw.type === "session_info") {
      const name = typeof raw.name === "string" ? raw.name : undefined;
      this.name = { name: name?.trim() || undefined, timestamp, at: where.at, place };
    } else if (raw.type === "label" && typeof raw.targetId === "string") {
      if (typeof raw.label === "string" && raw.label)
        this.labels.set(raw.targetId, { label: raw.label, timestamp });
      else this.labels.delete(raw.targetId);
    }
  }

  /** An id that no entry has, of those that `make` gives for 0, 1, 2, …. */
  freeId(make: (n: number) => string): string {
    for (let n = 0; ; n++) {
      const id = make(n);
      if (this.#ids.placeOf(id) === undefined) return id;
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
      const known = this.#ids.placeOf(parentId);
      if (known !== undefined) {
        this.#parents.set(place, known);
        continue;
      }
      if (followsGap && place > 0 && !standIns.has(parentId)) standIns.set(parentId, place - 1);
      const parent = standIns.get(parentId) ?? -1;
      this.#parents.set(place, parent);
      const message =
        parent < 0
          ? "the entry before this one is missing: it begins a branch of its own"
          : "the entry before this one can't be read: it follows the one before that";
      this.#report({ kind: "missing-parent", line, message });
    }
    this.#openCircles();
  }

  #openCircles(): void {
    /** 0: not seen; else the number of the walk that came by. */
    const seen = new Uint32Array(this.length);
    for (let start = 0; start < this.length; start++) {
      let at = start;
      while (at >= 0 && seen[at] === 0) {
        seen[at] = start + 1;
        at = this.parentAt(at);
      }
      if (at < 0 || seen[at] !== start + 1) continue;
      // This walk has come back to itself: the first entry of the circle becomes a beginning.
      let first = at;
      for (let on = this.parentAt(at); on !== at; on = this.parentAt(on)) first = Math.min(first, on);
      this.#parents.set(first, -1);
      this.#report({
        kind: "cycle",
        message: "entries follow each other in a circle; the first begins a branch",
      });
    }
  }
}
