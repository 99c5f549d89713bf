import { Blob, File } from "./blob.ts";

type Entry = [name: string, value: string | File];

/** `FormData` of the XMLHttpRequest standard, without forms. */
export class FormData {
  #entries: Entry[] = [];

  constructor(form?: unknown) {
    if (form !== undefined) throw new TypeError("FormData: there are no forms here");
  }

  append(name: string, value: unknown, fileName?: string): void {
    this.#entries.push(entry(name, value, fileName));
  }

  set(name: string, value: unknown, fileName?: string): void {
    const made = entry(name, value, fileName);
    const at = this.#entries.findIndex(([one]) => one === made[0]);
    if (at < 0) this.#entries.push(made);
    else {
      this.#entries = this.#entries.filter(([one], i) => i === at || one !== made[0]);
      this.#entries[at] = made;
    }
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter(([one]) => one !== String(name));
  }

  get(name: string): string | File | null {
    return this.#entries.find(([one]) => one === String(name))?.[1] ?? null;
  }

  getAll(name: string): (string | File)[] {
    return this.#entries.filter(([one]) => one === String(name)).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#entries.some(([one]) => one === String(name));
  }

  forEach(run: (value: string | File, name: string, form: FormData) => void, self?: unknown): void {
    for (const [name, value] of this) run.call(self, value, name, this);
  }

  *entries(): IterableIterator<Entry> {
    for (const [name, value] of this.#entries) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#entries) yield name;
  }

  *values(): IterableIterator<string | File> {
    for (const [, value] of this.#entries) yield value;
  }

  [Symbol.iterator](): IterableIterator<Entry> {
    return this.entries();
  }
}

/** Texts that are no valid UTF-16 become so. */
const wellFormed = (value: unknown): string => String(value).toWellFormed();

function entry(name: string, value: unknown, fileName: string | undefined): Entry {
  if (!(value instanceof Blob)) return [wellFormed(name), wellFormed(value)];
  if (value instanceof File && fileName === undefined) return [wellFormed(name), value];
  const called = fileName ?? "blob";
  const options = value instanceof File ? { lastModified: value.lastModified } : {};
  return [wellFormed(name), new File([value], wellFormed(called), { type: value.type, ...options })];
}
