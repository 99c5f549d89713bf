/**
 * The extension of walk.test.ts: names every object that can be reached in its compartment, breadth first, so that each has its
 * shortest name. It uses nothing but what it walks over.
 */
import { samples } from "./samples.ts";

const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf, apply } = Reflect;
const textOf = Function.prototype.toString;

/** What the test gets of each object: its name, and letters for what it is. */
export type Seen = [name: string, marks: string];

let host: unknown;
/** Packages of the host's, evaluated here: guest code, and thousands of functions. */
const PACKAGES: ReadonlySet<PropertyKey> = new Set(["typebox", "zod", "pi"]);

class Walk {
  readonly seen: Seen[] = [];
  readonly #known = new Set<unknown>();
  #queue: [unknown, string][] = [];

  add(value: unknown, name: string): void {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
    if (this.#known.has(value)) return;
    this.#known.add(value);
    this.#queue.push([value, name]);
  }

  run(): void {
    while (this.#queue.length > 0) {
      const level = this.#queue;
      this.#queue = [];
      for (const [value, name] of level) this.#visit(value as object, name);
    }
  }

  #visit(value: object, name: string): void {
    this.seen.push([name, marksOf(value)]);
    this.add(
      attempt(() => getPrototypeOf(value)),
      `${name}.__proto__`,
    );
    // Elements of bytes are numbers.
    if (ArrayBuffer.isView(value)) return this.#accessors(value, name);
    for (const key of attempt(() => ownKeys(value)) ?? []) {
      if (value === host && PACKAGES.has(key)) continue;
      const property = attempt(() => getOwnPropertyDescriptor(value, key));
      if (!property) continue;
      const path = `${name}.${typeof key === "symbol" ? `[${String(key.description)}]` : key}`;
      this.add(property.value, path);
      this.add(property.get, `${path}{get}`);
      this.add(property.set, `${path}{set}`);
    }
    this.#accessors(value, name);
  }

  /** What its own and its inherited getters give for it. */
  #accessors(value: object, name: string): void {
    for (let holder: object | null = value; holder; holder = prototypeOf(holder)) {
      for (const key of attempt(() => ownKeys(holder!)) ?? []) {
        const get = attempt(() => getOwnPropertyDescriptor(holder!, key))?.get;
        if (!get || key === "__proto__" || (holder === host && PACKAGES.has(key))) continue;
        const path = `${name}.${typeof key === "symbol" ? `[${String(key.description)}]` : key}`;
        this.add(
          attempt(() => apply(get, value, [])),
          path,
        );
      }
    }
  }
}

const prototypeOf = (value: object): object | null => attempt(() => getPrototypeOf(value)) ?? null;

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

/** `m`: can be changed; `n`: a function that is native; `f`: any other function. */
function marksOf(value: object): string {
  const changes = attempt(() => Object.isFrozen(value)) ? "" : "m";
  if (typeof value !== "function") return changes;
  const text = attempt((): string => apply(textOf, value, [])) ?? "";
  return changes + (text.endsWith("[native code] }") ? "n" : "f");
}

// biome-ignore lint/suspicious/noExplicitAny: an extension has no types of ours
export default (pi: any) =>
  pi.registerTool({
    name: "walk",
    parameters: { type: "object" },
    async execute(_id: string, _params: unknown, signal: unknown, _update: unknown, ctx: unknown) {
      host = pi;
      const walk = new Walk();
      walk.add(globalThis, "globalThis");
      for (const [name, value] of await samples()) walk.add(value, name);
      walk.add(pi, "pi");
      walk.add(ctx, "ctx");
      walk.add(signal, "signal");
      walk.add(import.meta, "meta");
      walk.run();
      return JSON.stringify(walk.seen);
    },
  });
