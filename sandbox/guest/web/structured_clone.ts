/**
 * `structuredClone`, as guest code. The runtime's own makes whatever object of the runtime's a value says that it is: under Deno
 * a symbol that each of its exceptions carries says so, and classes that nobody hardened were reached by that.
 *
 * Copies what the HTML standard calls serializable and is of ECMAScript, and transfers buffers. A `Blob`, a `File` and a key can't
 * change, so their copy is themselves.
 */
/** The error of the same name; there is no DOMException here. */
function cloneError(what: string): Error {
  const error = new Error(`${what} could not be cloned.`);
  Object.defineProperty(error, "name", { value: "DataCloneError", configurable: true, writable: true });
  return Object.assign(error, { code: 25 });
}

/** Throws an error of the name `DataCloneError` for what has no copy. */
export function structuredClone(...given: [value?: unknown, options?: unknown]): unknown {
  if (given.length === 0) throw new TypeError("structuredClone needs a value");
  const cloner = new Cloner(transferList(given[1]));
  const result = cloner.copy(given[0]);
  cloner.transferRest();
  return result;
}

function transferList(options: unknown): Set<ArrayBuffer> {
  const buffers = new Set<ArrayBuffer>();
  const { transfer } = Object(options ?? {}) as { transfer?: Iterable<unknown> };
  for (const item of transfer ?? []) {
    if (!(item instanceof ArrayBuffer) || item.detached || buffers.has(item)) {
      throw cloneError("A value to transfer");
    }
    buffers.add(item);
  }
  return buffers;
}

const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
/** Objects of these kinds have a state that no copy would have. */
const UNIQUE = new Set([
  "Promise",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "FinalizationRegistry",
  "Generator",
  "AsyncGenerator",
  "URL",
  "URLSearchParams",
]);
const UNCHANGING = new Set(["Blob", "File", "CryptoKey"]);

class Cloner {
  readonly #copies = new Map<unknown, unknown>();
  readonly #transferred: Set<ArrayBuffer>;

  constructor(transferred: Set<ArrayBuffer>) {
    this.#transferred = transferred;
  }

  copy(value: unknown): unknown {
    if (typeof value === "symbol") throw cloneError(String(value));
    if (typeof value === "function") throw cloneError(`The function ${value.name}`);
    if (typeof value !== "object" || value === null) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy = this.#begin(value);
    this.#copies.set(value, copy);
    this.#fill(value, copy);
    return copy;
  }

  /** Those that nothing of the value refers to. */
  transferRest(): void {
    for (const buffer of this.#transferred) if (!buffer.detached) buffer.transfer();
  }

  /** A new object of the same kind, without what refers to others. */
  #begin(value: object): object {
    if (Array.isArray(value)) return new Array(value.length);
    if (value instanceof Map) return new Map();
    if (value instanceof Set) return new Set();
    if (value instanceof Date) return new Date(value.getTime());
    if (value instanceof RegExp) return new RegExp(value.source, value.flags);
    if (value instanceof ArrayBuffer) return this.#buffer(value);
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (value instanceof Error) return errorLike(value);
    for (const Wrapper of [Boolean, Number, String, BigInt]) {
      if (value instanceof Wrapper) return Object(value.valueOf()) as object;
    }
    const kind = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
    if (typeof kind === "string" && UNCHANGING.has(kind)) return value;
    if (value instanceof Symbol || (typeof kind === "string" && UNIQUE.has(kind))) {
      throw cloneError(typeof kind === "string" ? `An object of the class ${kind}` : "A symbol");
    }
    return {};
  }

  #fill(value: object, copy: object): void {
    if (value === copy || value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return;
    if (value instanceof Map) {
      for (const [key, item] of [...value])
        (copy as Map<unknown, unknown>).set(this.copy(key), this.copy(item));
    } else if (value instanceof Set) {
      for (const item of [...value]) (copy as Set<unknown>).add(this.copy(item));
    } else if (value instanceof Error) {
      if (Object.hasOwn(value, "cause")) define(copy, "cause", this.copy(value.cause), false);
    } else if (Array.isArray(value) || Object.getPrototypeOf(copy) === Object.prototype) {
      for (const key of Object.keys(value)) {
        // One that a getter before it removed is gone.
        if (Object.hasOwn(value, key)) {
          define(copy, key, this.copy((value as Record<string, unknown>)[key]), true);
        }
      }
    }
  }

  #buffer(buffer: ArrayBuffer): ArrayBuffer {
    if (buffer.detached) throw cloneError("A detached ArrayBuffer");
    if (this.#transferred.has(buffer)) return buffer.transfer();
    const copy = buffer.resizable
      ? new ArrayBuffer(buffer.byteLength, { maxByteLength: buffer.maxByteLength })
      : new ArrayBuffer(buffer.byteLength);
    new Uint8Array(copy).set(new Uint8Array(buffer));
    return copy;
  }

  #view(view: ArrayBufferView): object {
    // Read first: a transfer leaves the view empty.
    const { byteOffset, byteLength } = view;
    const { length } = view as { length?: number };
    const buffer = this.copy(view.buffer) as ArrayBuffer;
    if (view instanceof DataView) return new DataView(buffer, byteOffset, byteLength);
    const name = (view as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] as string;
    const Class = (globalThis as unknown as Record<string, Uint8ArrayConstructor>)[name] ?? Uint8Array;
    return new Class(buffer, byteOffset, length);
  }
}

function errorLike(error: Error): Error {
  const name = String(error.name);
  const Class = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : Error;
  const message = Object.getOwnPropertyDescriptor(error, "message");
  const copy = message && "value" in message ? new Class(String(message.value)) : new Class();
  if (typeof error.stack === "string") define(copy, "stack", error.stack, false);
  return copy;
}

function define(object: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(object, key, { value, enumerable, configurable: true, writable: true });
}
