/**
 * `node:util/types`. By what objects have inside, as far as the language lets one look: a promise and an error are known by
 * their prototypes, and a proxy can't be told from its target.
 */
import { named } from "./named.ts";

type Check = (value: unknown) => boolean;
const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";
const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);

/** Whether `method`, which throws for others, takes it. */
function takes(method: unknown, ...args: unknown[]): Check {
  return (value) => {
    if (!isObject(value)) return false;
    try {
      Reflect.apply(method as () => unknown, value, args);
      return true;
    } catch {
      return false;
    }
  };
}

function getter(prototype: object, name: PropertyKey): (this: unknown) => unknown {
  return Object.getOwnPropertyDescriptor(prototype, name)?.get as never;
}

const arrayTag = getter(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag);
const typedArrayName = (value: unknown): unknown => Reflect.apply(arrayTag, value, []);
const isArrayOf =
  (name: string): Check =>
  (value) =>
    typedArrayName(value) === name;
const probe = {};

export const isDate: Check = takes(Date.prototype.getTime);
export const isRegExp: Check = (value) =>
  value !== RegExp.prototype && takes(getter(RegExp.prototype, "source"))(value);
export const isMap: Check = takes(getter(Map.prototype, "size"));
export const isSet: Check = takes(getter(Set.prototype, "size"));
export const isWeakMap: Check = takes(WeakMap.prototype.has, probe);
export const isWeakSet: Check = takes(WeakSet.prototype.has, probe);
export const isArrayBuffer: Check = takes(getter(ArrayBuffer.prototype, "byteLength"));
export const isSharedArrayBuffer: Check = () => false;
export const isAnyArrayBuffer: Check = isArrayBuffer;
export const isArrayBufferView: Check = (value) => ArrayBuffer.isView(value);
export const isDataView: Check = takes(getter(DataView.prototype, "byteLength"));
export const isTypedArray: Check = (value) => typedArrayName(value) !== undefined;
export const isUint8Array: Check = isArrayOf("Uint8Array");
export const isUint8ClampedArray: Check = isArrayOf("Uint8ClampedArray");
export const isUint16Array: Check = isArrayOf("Uint16Array");
export const isUint32Array: Check = isArrayOf("Uint32Array");
export const isInt8Array: Check = isArrayOf("Int8Array");
export const isInt16Array: Check = isArrayOf("Int16Array");
export const isInt32Array: Check = isArrayOf("Int32Array");
export const isFloat16Array: Check = isArrayOf("Float16Array");
export const isFloat32Array: Check = isArrayOf("Float32Array");
export const isFloat64Array: Check = isArrayOf("Float64Array");
export const isBigInt64Array: Check = isArrayOf("BigInt64Array");
export const isBigUint64Array: Check = isArrayOf("BigUint64Array");

const boxed =
  (method: unknown): Check =>
  (value) =>
    typeof value === "object" && takes(method)(value);
export const isNumberObject: Check = boxed(Number.prototype.valueOf);
export const isStringObject: Check = boxed(String.prototype.valueOf);
export const isBooleanObject: Check = boxed(Boolean.prototype.valueOf);
export const isBigIntObject: Check = boxed(BigInt.prototype.valueOf);
export const isSymbolObject: Check = boxed(Symbol.prototype.valueOf);
export const isBoxedPrimitive: Check = (value) =>
  isNumberObject(value) ||
  isStringObject(value) ||
  isBooleanObject(value) ||
  isBigIntObject(value) ||
  isSymbolObject(value);

export const isPromise: Check = (value) => value instanceof Promise;
export const isNativeError: Check = (value) => value instanceof Error;
export const isProxy: Check = () => false;
export const isExternal: Check = () => false;
export const isModuleNamespaceObject: Check = (value) => isObject(value) && tagOf(value) === "Module";
export const isArgumentsObject: Check = (value) =>
  isObject(value) && !(Symbol.toStringTag in value) && tagOf(value) === "Arguments";
export const isGeneratorFunction: Check = (value) =>
  typeof value === "function" && /^(?:Async)?GeneratorFunction$/.test(tagOf(value));
export const isAsyncFunction: Check = (value) =>
  typeof value === "function" && /^Async(?:Generator)?Function$/.test(tagOf(value));
export const isGeneratorObject: Check = (value) =>
  isObject(value) && /^(?:Async)?Generator$/.test(tagOf(value));
export const isMapIterator: Check = (value) => isObject(value) && tagOf(value) === "Map Iterator";
export const isSetIterator: Check = (value) => isObject(value) && tagOf(value) === "Set Iterator";
export const isKeyObject: Check = (value) => isObject(value) && tagOf(value) === "KeyObject";
export const isCryptoKey: Check = (value) => isObject(value) && tagOf(value) === "CryptoKey";

export default named({
  isDate,
  isRegExp,
  isMap,
  isSet,
  isWeakMap,
  isWeakSet,
  isArrayBuffer,
  isSharedArrayBuffer,
  isAnyArrayBuffer,
  isArrayBufferView,
  isDataView,
  isTypedArray,
  isUint8Array,
  isUint8ClampedArray,
  isUint16Array,
  isUint32Array,
  isInt8Array,
  isInt16Array,
  isInt32Array,
  isFloat16Array,
  isFloat32Array,
  isFloat64Array,
  isBigInt64Array,
  isBigUint64Array,
  isNumberObject,
  isStringObject,
  isBooleanObject,
  isBigIntObject,
  isSymbolObject,
  isBoxedPrimitive,
  isPromise,
  isNativeError,
  isProxy,
  isExternal,
  isModuleNamespaceObject,
  isArgumentsObject,
  isGeneratorFunction,
  isAsyncFunction,
  isGeneratorObject,
  isMapIterator,
  isSetIterator,
  isKeyObject,
  isCryptoKey,
});
