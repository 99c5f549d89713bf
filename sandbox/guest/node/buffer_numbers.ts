/** `readInt8` … `writeBigUInt64LE`: the methods of Buffer that read and write numbers, over a DataView. */
import { codedError, invalidArgument, outOfRange } from "./errors.ts";

type Bytes = Uint8Array;
type Methods = Record<string, (this: Bytes, ...args: never[]) => unknown>;

const views = new WeakMap<Bytes, DataView>();

function viewOf(bytes: Bytes): DataView {
  let view = views.get(bytes);
  if (!view) {
    view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    views.set(bytes, view);
  }
  return view;
}

function checkOffset(offset: unknown, length: number, size: number): asserts offset is number {
  if (typeof offset !== "number") throw invalidArgument("offset", "of type number", offset);
  if (!Number.isInteger(offset)) throw outOfRange("offset", "an integer", offset);
  if (offset >= 0 && offset + size <= length) return;
  if (length < size) {
    throw codedError(
      RangeError,
      "ERR_BUFFER_OUT_OF_BOUNDS",
      "Attempt to access memory outside buffer bounds",
    );
  }
  throw outOfRange("offset", `>= 0 and <= ${length - size}`, offset);
}

/** Throws unless `min <= value <= max`, for an integer of `size` bytes. */
function checkValue(
  value: unknown,
  min: number | bigint,
  max: number | bigint,
  size: number,
  signed: boolean,
): void {
  if ((value as number) >= min && (value as number) <= max) return;
  const n = typeof min === "bigint" ? "n" : "";
  let range: string;
  if (size > 4 || n) {
    range = !signed
      ? `>= 0${n} and < 2${n} ** ${size * 8}${n}`
      : `>= -(2${n} ** ${size * 8 - 1}${n}) and < 2${n} ** ${size * 8 - 1}${n}`;
  } else {
    range = `>= ${min} and <= ${max}`;
  }
  if ((value as number) < min || (value as number) > max) throw outOfRange("value", range, value);
}

const methods: Methods = {};

/** Names as Node has them: `UInt` and `Uint`. */
function define(name: string, method: unknown): void {
  methods[name] = method as never;
  if (name.includes("UInt")) methods[name.replace("UInt", "Uint")] = method as never;
}

for (const bits of [8, 16, 32] as const) {
  for (const signed of [true, false]) {
    const kind = signed ? ("Int" as const) : ("Uint" as const);
    const shown = signed ? "Int" : "UInt";
    const size = bits / 8;
    const min = signed ? -(2 ** (bits - 1)) : 0;
    const max = signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
    for (const end of bits === 8 ? [""] : ["LE", "BE"]) {
      const little = end === "LE";
      const get = `get${kind}${bits}` as const;
      const set = `set${kind}${bits}` as const;
      define(`read${shown}${bits}${end}`, function (this: Bytes, offset: unknown = 0): number {
        checkOffset(offset, this.length, size);
        return viewOf(this)[get](offset, little);
      });
      define(
        `write${shown}${bits}${end}`,
        function (this: Bytes, value: unknown, offset: unknown = 0): number {
          const number = +(value as number);
          checkValue(number, min, max, size, signed);
          checkOffset(offset, this.length, size);
          viewOf(this)[set](offset, number, little);
          return offset + size;
        },
      );
    }
  }
}

for (const end of ["LE", "BE"]) {
  const little = end === "LE";
  for (const [shown, bits] of [
    ["Float", 32],
    ["Double", 64],
  ] as const) {
    const size = bits / 8;
    define(`read${shown}${end}`, function (this: Bytes, offset: unknown = 0): number {
      checkOffset(offset, this.length, size);
      return viewOf(this)[`getFloat${bits}`](offset, little);
    });
    define(`write${shown}${end}`, function (this: Bytes, value: unknown, offset: unknown = 0): number {
      checkOffset(offset, this.length, size);
      viewOf(this)[`setFloat${bits}`](offset, +(value as number), little);
      return offset + size;
    });
  }

  for (const signed of [true, false]) {
    const shown = signed ? "BigInt" : "BigUInt";
    const kind = signed ? ("BigInt" as const) : ("BigUint" as const);
    const min = signed ? -(2n ** 63n) : 0n;
    const max = signed ? 2n ** 63n - 1n : 2n ** 64n - 1n;
    define(`read${shown}64${end}`, function (this: Bytes, offset: unknown = 0): bigint {
      checkOffset(offset, this.length, 8);
      return viewOf(this)[`get${kind}64`](offset, little);
    });
    define(`write${shown}64${end}`, function (this: Bytes, value: unknown, offset: unknown = 0): number {
      if (typeof value !== "bigint") throw invalidArgument("value", "of type bigint", value);
      checkValue(value, min, max, 8, signed);
      checkOffset(offset, this.length, 8);
      viewOf(this)[`set${kind}64`](offset, value, little);
      return offset + 8;
    });

    // Of one to six bytes.
    const plain = signed ? "Int" : "UInt";
    define(`read${plain}${end}`, function (this: Bytes, offset: unknown, size: unknown): number {
      if (offset === undefined) throw invalidArgument("offset", "of type number", offset);
      checkSize(size);
      checkOffset(offset, this.length, size);
      let value = 0;
      for (let i = 0; i < size; i++) {
        value = value * 256 + (this[little ? offset + size - 1 - i : offset + i] as number);
      }
      return signed && value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value;
    });
    define(
      `write${plain}${end}`,
      function (this: Bytes, value: unknown, offset: unknown, size: unknown): number {
        checkSize(size);
        const number = +(value as number);
        checkValue(
          number,
          signed ? -(2 ** (size * 8 - 1)) : 0,
          signed ? 2 ** (size * 8 - 1) - 1 : 2 ** (size * 8) - 1,
          size,
          signed,
        );
        checkOffset(offset, this.length, size);
        let rest = Math.trunc(number) || 0;
        if (rest < 0) rest += 2 ** (size * 8);
        for (let i = 0; i < size; i++) {
          this[little ? offset + i : offset + size - 1 - i] = rest % 256;
          rest = Math.floor(rest / 256);
        }
        return offset + size;
      },
    );
  }
}

function checkSize(size: unknown): asserts size is number {
  if (typeof size !== "number") throw invalidArgument("byteLength", "of type number", size);
  if (!Number.isInteger(size)) throw outOfRange("byteLength", "an integer", size);
  if (size < 1 || size > 6) throw outOfRange("byteLength", ">= 1 and <= 6", size);
}

export const numberMethods: Readonly<Methods> = methods;
