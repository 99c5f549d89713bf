/** `node:stream`: Node's own, as its people publish it for elsewhere, and the bridges to the web's streams. */
// @ts-expect-error the package has no types
import Stream from "readable-stream/lib/stream.js";
import { named } from "./named.ts";
import { fromReadable, fromWritable, toReadable, toWritable } from "./stream_web_bridge.ts";

// biome-ignore lint/suspicious/noExplicitAny: the package has no types of its own
type Any = any;
const exports = Stream as Any;
const { Readable: ReadableClass, Writable: WritableClass, Duplex: DuplexClass } = exports;

define(ReadableClass, "fromWeb", (stream: Any, options?: object) =>
  fromReadable(ReadableClass, stream, options),
);
define(ReadableClass, "toWeb", (stream: Any) => toReadable(stream));
define(WritableClass, "fromWeb", (stream: Any, options?: object) =>
  fromWritable(WritableClass, stream, options),
);
define(WritableClass, "toWeb", (stream: Any) => toWritable(stream));
define(DuplexClass, "fromWeb", (pair: Any, options?: object) =>
  DuplexClass.from({
    readable: fromReadable(ReadableClass, pair.readable, options),
    writable: fromWritable(WritableClass, pair.writable, options),
  }),
);
define(DuplexClass, "toWeb", (stream: Any) => ({
  readable: toReadable(stream),
  writable: toWritable(stream),
}));

const defaults = { bytes: 65_536, objects: 16 };
define(exports, "getDefaultHighWaterMark", (objectMode: boolean) =>
  objectMode ? defaults.objects : defaults.bytes,
);
define(exports, "setDefaultHighWaterMark", (objectMode: boolean, value: number) => {
  defaults[objectMode ? "objects" : "bytes"] = value;
});
define(exports, "isWritable", (stream: Any) =>
  typeof stream?.writable === "boolean" ? stream.writable && !stream.destroyed : null,
);
/** Two streams, each of which reads what the other writes. */
define(exports, "duplexPair", (options?: object) => {
  const make = (): Any => {
    const side = new DuplexClass({
      ...options,
      read() {
        const done = side.waiting;
        side.waiting = undefined;
        done?.();
      },
      write(chunk: unknown, _encoding: string, done: () => void) {
        if (side.other.push(chunk)) done();
        else side.other.waiting = done;
      },
      final(done: () => void) {
        side.other.push(null);
        done();
      },
    });
    return side;
  };
  const [a, b] = [make(), make()];
  for (const [side, other] of [
    [a, b],
    [b, a],
  ]) {
    Object.defineProperty(side, "other", { value: other });
    Object.defineProperty(side, "waiting", { value: undefined, writable: true });
  }
  return [a, b];
});

function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

named(exports);

export const {
  addAbortSignal,
  compose,
  destroy,
  Duplex,
  duplexPair,
  finished,
  getDefaultHighWaterMark,
  isDestroyed,
  isDisturbed,
  isErrored,
  isReadable,
  isWritable,
  PassThrough,
  pipeline,
  promises,
  Readable,
  setDefaultHighWaterMark,
  Transform,
  Writable,
  _isUint8Array,
  _uint8ArrayToBuffer,
} = exports;
export { Stream };

export default exports;
