/**
 * A watch over the body of a streamed answer. Two things no SDK does: it notices silence (an idle limit), and it refuses
 * what is no event stream (a login page, a JSON error with status 200, garbage between the events), with a text that says
 * what came instead. That the stream ended where its protocol ends it is for the protocol's reader to say.
 */
import { formatMs } from "../base/time.ts";
import { bodyText, eventError, type Party, RequestFailure } from "./failure.ts";

export interface WatchOptions {
  party: Party;
  /** `200 OK`, for messages. */
  status: string;
  contentType: string;
  /** The longest silence, in ms. */
  idleMs: number;
  /** Whether data that is not JSON (or `[DONE]`) ends the stream; otherwise the protocol's reader decides. */
  json: boolean;
  /** Told what went wrong, before the reader sees an error. */
  onFailure(failure: RequestFailure): void;
}

const FIELD = /^(?:data|event|id|retry|:)/;
const SHOWN = 2048;

/** The same bytes, as long as they are an event stream that keeps coming; an error that was told to `onFailure` otherwise. */
export function watchEvents(
  body: ReadableStream<Uint8Array>,
  options: WatchOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const check = new EventCheck(options);
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, failure: RequestFailure) => {
    options.onFailure(failure);
    controller.error(failure);
    reader.cancel(failure).catch(() => {});
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        let chunk: Awaited<ReturnType<typeof reader.read>>;
        try {
          chunk = await within(reader.read(), options.idleMs);
        } catch (error) {
          if (error !== SILENCE) {
            // An SDK that was told of an error by the server breaks off by itself: that is not the news.
            if (!check.told) options.onFailure(brokenOff(options.party));
            return controller.error(error);
          }
          return fail(controller, check.garbage() ?? silence(options));
        }
        const failure = chunk.done ? check.end() : check.add(chunk.value);
        if (failure) return fail(controller, failure);
        if (chunk.done) return controller.close();
        if (!check.started) continue;
        controller.enqueue(check.take(chunk.value));
        return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const SILENCE = Symbol("silence");

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(SILENCE), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function brokenOff({ provider }: Party): RequestFailure {
  return new RequestFailure(`provider "${provider}" closed the connection in the middle of its answer`);
}

/** The failure of a server that went silent, before or within its answer. */
export function silence(options: Pick<WatchOptions, "party" | "idleMs">): RequestFailure {
  return new RequestFailure(
    `provider "${options.party.provider}" timed out: it sent nothing for ${formatMs(options.idleMs)}`,
  );
}

/** Follows the lines of an event stream just far enough to know whether it is one. */
class EventCheck {
  /** Whether the body has been recognised as an event stream. */
  started = false;
  /** Whether the failure that counts has been told. */
  told = false;
  readonly #options: WatchOptions;
  readonly #decoder = new TextDecoder();
  #held: Uint8Array[] = [];
  #text = "";
  #data: string[] = [];
  #bad = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  add(bytes: Uint8Array): RequestFailure | undefined {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (!this.started) {
      const head = this.#text.trimStart();
      this.#bad ||= (head.length >= 6 || head.includes("\n")) && !FIELD.test(head);
      if (this.#bad) return this.#text.length >= SHOWN ? this.garbage() : undefined;
      this.#held.push(bytes);
      if (!FIELD.test(head)) return undefined;
      this.started = true;
    }
    return this.#lines();
  }

  /** What was held back while the beginning was not clear, with `latest` as its last part. */
  take(latest: Uint8Array): Uint8Array {
    const held = this.#held;
    if (held.length === 0) return latest;
    this.#held = [];
    if (held.length === 1) return latest;
    const whole = new Uint8Array(held.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of held) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  }

  end(): RequestFailure | undefined {
    if (this.started) return undefined;
    this.#bad = true;
    return this.garbage();
  }

  /** The failure for what is not an event stream, or undefined if that is not known (yet). */
  garbage(): RequestFailure | undefined {
    if (!this.#bad) return undefined;
    const { party, status, contentType } = this.#options;
    const text = bodyText(this.#text.slice(0, SHOWN));
    const what = contentType ? ` (${contentType.split(";", 1)[0]?.slice(0, 60)})` : "";
    const found = text ? `: ${text}` : ": an empty answer";
    return new RequestFailure(
      `provider "${party.provider}" answered ${status}${what} but not with a model's stream${found}`,
    );
  }

  #lines(): RequestFailure | undefined {
    const lines = this.#text.split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) this.#data.push(line.slice(5));
      else if (line === "" && this.#data.length > 0) {
        const failure = this.#event(this.#data.join("\n").trim());
        this.#data = [];
        if (failure) return failure;
      }
    }
    return undefined;
  }

  #event(data: string): RequestFailure | undefined {
    if (data === "" || data === "[DONE]") return undefined;
    const { party, json, onFailure } = this.#options;
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      const failure = new RequestFailure(
        `provider "${party.provider}" sent garbage in its stream: ${bodyText(data)}`,
      );
      if (json) return failure;
      // The protocol's reader may repair it; if it can't, this is what it failed on.
      this.told = true;
      onFailure(failure);
    }
    const error = eventError(event);
    if (error) {
      this.told = true;
      onFailure(new RequestFailure(`provider "${party.provider}" reported an error in its stream: ${error}`));
    }
    return undefined;
  }
}
