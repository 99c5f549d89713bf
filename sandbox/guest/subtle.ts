/**
 * `crypto.subtle` for a guest. The runtime works for it on the threads of the whole process, which the agent's own files wait
 * for, and does not stop when the worker ends: sixteen derivations of a billion rounds were enough to stall every read of the
 * agent for hours. So one operation of a worker is under way at a time, and none may take long.
 *
 * Everything used here is captured before any guest runs.
 */
import { throwToGuest } from "./exceptions.ts";

const { apply } = Reflect;
const { isView } = ArrayBuffer;
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
            algorithms.includes(index) ? plainAlgorithm(arg) : ownBytes(arg),
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

/** Read once: what is checked is what is used. */
function plainAlgorithm(algorithm: unknown): unknown {
  if (typeof algorithm !== "object" || algorithm === null) return algorithm;
  const plain = { ...algorithm } as Record<string, unknown>;
  for (const name of LIMITED) atMost(name, plain[name]);
  return plain;
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

/** The operation may begin later than the call: what it works on is of now. */
function ownBytes(value: unknown): unknown {
  if (!isView(value)) return value;
  return new Bytes(new Bytes(value.buffer, value.byteOffset, value.byteLength));
}
