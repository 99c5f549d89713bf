/** The globals of the Streams standard. Nobody pays for them who does not use a stream. */
import { TransformStream } from "web-streams-polyfill";

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from "web-streams-polyfill";

export class TextEncoderStream {
  readonly #transform: TransformStream<string, Uint8Array>;

  constructor() {
    const encoder = new TextEncoder();
    // Half of a character that the next piece may complete.
    let high = "";
    this.#transform = new TransformStream({
      transform(chunk, controller) {
        let text = high + String(chunk);
        high = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
        if (high) text = text.slice(0, -1);
        if (text) controller.enqueue(encoder.encode(text));
      },
      flush(controller) {
        if (high) controller.enqueue(encoder.encode(high));
      },
    });
  }

  get encoding(): string {
    return "utf-8";
  }

  get readable(): unknown {
    return this.#transform.readable;
  }

  get writable(): unknown {
    return this.#transform.writable;
  }
}

export class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly #transform: TransformStream<Uint8Array, string>;

  /** Throws a RangeError for an encoding that is not known. */
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }) {
    const decoder = new TextDecoder(label, options);
    this.#decoder = decoder;
    const give = (text: string, controller: { enqueue(text: string): void }): void => {
      if (text) controller.enqueue(text);
    };
    this.#transform = new TransformStream({
      transform: (chunk, controller) => give(decoder.decode(chunk, { stream: true }), controller),
      flush: (controller) => give(decoder.decode(), controller),
    });
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  get readable(): unknown {
    return this.#transform.readable;
  }

  get writable(): unknown {
    return this.#transform.writable;
  }
}

// Short names in a built text are not what they are called.
for (const [name, Class] of Object.entries({ TextEncoderStream, TextDecoderStream })) {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
