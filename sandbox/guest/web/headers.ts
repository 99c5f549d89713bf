const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function keyOf(name: unknown): string {
  const text = String(name);
  if (!TOKEN.test(text)) throw new TypeError(`Invalid header name: ${text}`);
  return text.toLowerCase();
}

function textOf(name: string, value: unknown): string {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\r\n]|[^\0-\xff]/.test(text)) throw new TypeError(`Invalid value of header ${name}`);
  return text;
}

export type HeadersInit =
  | Headers
  | Iterable<readonly [string, string] | readonly string[]>
  | Record<string, string>
  | undefined
  | null;

/** `Headers` of the Fetch standard: sorted, in lower case, `set-cookie` never joined. */
export class Headers {
  readonly #values = new Map<string, string[]>();

  constructor(init?: HeadersInit) {
    if (init === undefined || init === null) return;
    if (typeof init !== "object") throw new TypeError("Headers: the first argument must be an object");
    if (Symbol.iterator in init) {
      for (const pair of init as Iterable<readonly string[]>) {
        const [name, value, ...more] = [...pair];
        if (value === undefined || more.length > 0)
          throw new TypeError("Headers: a pair must have two items");
        this.append(name as string, value);
      }
    } else {
      for (const name of Reflect.ownKeys(init)) {
        if (typeof name === "symbol") continue;
        if (Object.prototype.propertyIsEnumerable.call(init, name)) this.append(name, init[name] as string);
      }
    }
  }

  append(name: string, value: string): void {
    const key = keyOf(name);
    const text = textOf(key, value);
    const values = this.#values.get(key);
    if (values) values.push(text);
    else this.#values.set(key, [text]);
  }

  delete(name: string): void {
    this.#values.delete(keyOf(name));
  }

  get(name: string): string | null {
    return this.#values.get(keyOf(name))?.join(", ") ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get("set-cookie") ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(keyOf(name));
  }

  set(name: string, value: string): void {
    const key = keyOf(name);
    this.#values.set(key, [textOf(key, value)]);
  }

  forEach(run: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) run.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name) ?? [];
      if (name === "set-cookie") for (const value of values) yield [name, value];
      else yield [name, values.join(", ")];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.entries()) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}
