/**
 * `crypto.subtle` for a guest. The runtime works for it on the threads of the whole process, which the agent's own files wait
 * for, and does not stop when the worker ends: sixteen derivations of a billion rounds were enough to stall every read of the
 * agent for hours. So one operation of a worker is under way at a time, and none may take long.
 *
 * Everything used here is captured before any guest runs.
 */
import { isBuffer } from "./buffers.ts";
import { throwToGuest } from "./exceptions.ts";

const { apply } = Reflect;
const { isArray } = Array;
const { keys } = Object;
const { isView } = ArrayBuffer;
const typeOfKey = Object.getOwnPropertyDescriptor(CryptoKey.prototype, "type")?.get as () => string;
const Bytes = Uint8Array;
const TooLong = RangeError;
const { then } = Promise.prototype;
const { ceil } = Math;

/** The most that some parameters may be: each makes an operation take up to a few seconds, or tens of MB. */
const MOST: Readonly<Record<string, number>> = {
  modulusLength: 4096,
  iterations: 4_000_000,
  /** Bits of a key; with PBKDF2, of what is derived. */
  length: 32_768,
  /** Argon2's: KiB, rounds, and lanes. */
  memory: 65_536,
  passes: 16,
  parallelism: 8,
};
/** Rounds of PBKDF2, for each 256 bits that are derived. */
const MOST_ROUNDS = 4_000_000;

/** The methods, and which of their parameters are algorithms. */
const METHODS: Readonly<Record<string, readonly number[]>> = {
  digest: [0],
  sign: [0],
  verify: [0],
  encrypt: [0],
  decrypt: [0],
  generateKey: [0],
  deriveBits: [0],
  deriveKey: [0, 2],
  importKey: [2],
  exportKey: [],
  wrapKey: [3],
  unwrapKey: [3, 4],
};

type Method = (...args: unknown[]) => Promise<unknown>;

export function boundedSubtle(native: unknown): Record<string, Method> {
  let last: Promise<unknown> = Promise.resolve();
  const bounded: Record<string, Method> = {};
  for (const [name, algorithms] of Object.entries(METHODS)) {
    const method = (native as Record<string, Method>)[name];
    if (!method) continue;
    // A method, so that it has its name.
    const { [name]: one } = {
      [name](...args: unknown[]): Promise<unknown> {
        let given: unknown[];
        try {
          given = args.map((arg, index) =>
            algorithms.includes(index) ? plainAlgorithm(arg) : plain(arg, 0),
          );
          if (name === "deriveBits") checkDerivation(given[0], given[2]);
          if (name === "deriveKey")
            checkDerivation(given[0], (Object(given[2]) as { length?: unknown }).length);
        } catch (error) {
          return Promise.reject(error);
        }
        const run = (): Promise<unknown> => apply(method, native, given);
        const result = apply(then, last, [run, run]) as Promise<unknown>;
        const told = apply(then, result, [undefined, throwToGuest]) as Promise<unknown>;
        last = result;
        return told;
      },
    };
    bounded[name] = one as Method;
  }
  return bounded;
}

function plainAlgorithm(algorithm: unknown): unknown {
  const copy = plain(algorithm, 0) as Record<string, unknown>;
  if (typeof copy === "object" && copy !== null) for (const name of LIMITED) atMost(name, copy[name]);
  return copy;
}

/** How deep what is given may be: a list in an object in an object. */
const MAX_DEPTH = 3;

/**
 * A copy: read once, what is checked is what is used, and bytes are of now, since the operation may begin later than the call. Of an
 * object nothing but its data: the runtime describes what it refuses by its own inspector, which hands itself to methods of it.
 */
function plain(value: unknown, depth: number): unknown {
  if (typeof value === "function") return {};
  if (typeof value !== "object" || value === null || isKey(value)) return value;
  if (isView(value)) return new Bytes(new Bytes(value.buffer, value.byteOffset, value.byteLength));
  if (isBuffer(value)) return value;
  if (depth > MAX_DEPTH) return {};
  if (isArray(value)) return Array.from(value, (item) => plain(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const name of keys(value)) {
    if (name !== "constructor" && name !== "__proto__") {
      copy[name] = plain((value as Record<string, unknown>)[name], depth + 1);
    }
  }
  return copy;
}

function isKey(value: object): boolean {
  try {
    apply(typeOfKey, value, []);
    return true;
  } catch {
    return false;
  }
}

const LIMITED = Object.keys(MOST);

function atMost(name: string, value: unknown): void {
  const most = MOST[name]!;
  if (value === undefined || value === null || (typeof value === "number" && value <= most)) return;
  throw new TooLong(`${name} may be a number up to ${most} in the sandbox`);
}

/** How many bits are derived counts as much as the rounds do. */
function checkDerivation(algorithm: unknown, length: unknown): void {
  atMost("length", length);
  const { iterations } = Object(algorithm) as { iterations?: number };
  const pieces = ceil((typeof length === "number" ? length : 1024) / 256);
  if ((iterations ?? 0) * pieces <= MOST_ROUNDS) return;
  throw new TooLong(`iterations may be up to ${MOST_ROUNDS} for each 256 bits in the sandbox`);
}
