/** `fetch` and the classes that go with it. */
import { Blob, File } from "./blob.ts";
import { pullFrom, type Source, takeSource } from "./body.ts";
import { dataResponse } from "./data_url.ts";
import { FormData } from "./form_data.ts";
import { Headers } from "./headers.ts";
import { Request, type RequestInit } from "./request.ts";
import { makeResponse, Response } from "./response.ts";
import { Wire } from "./wire.ts";

export { Blob, File, FormData, Headers, Request, Response };

/**
 * Rejects with the signal's reason when that aborts, and otherwise with a TypeError whose `cause` has a `code`: `EACCES` if the
 * extension may not go there.
 */
export async function fetch(input: unknown, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const { signal, url, redirect, method } = request;
  signal.throwIfAborted();
  const data = dataResponse(url);
  if (data) return data;
  if (!/^https?:/.test(url))
    throw failed(new TypeError(`unknown scheme: ${url.slice(0, url.indexOf(":") + 1)}`));

  const source = takeSource(request);
  const body = source && ("bytes" in source ? source.bytes : { length: undefined });
  const wire = new Wire({
    url,
    method,
    headers: wireHeaders(request.headers),
    redirect,
    decompress: true,
    body,
  });
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = (): void => {
    wire.close();
    aborted.reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort);
  const finish = (): void => {
    signal.removeEventListener("abort", onAbort);
    wire.close();
  };
  try {
    const sending = source && !("bytes" in source) ? send(source, wire) : undefined;
    const head = await Promise.race([
      aborted.promise,
      wire.head,
      ...(sending ? [sending.then(() => wire.head)] : []),
    ]);
    const pull = async (): Promise<Uint8Array | undefined> => {
      try {
        // Closing the wire ends this, too.
        const bytes = await wire.read();
        if (!bytes) finish();
        return bytes;
      } catch (error) {
        finish();
        throw signal.aborted ? signal.reason : new TypeError("terminated", { cause: error });
      }
    };
    if (!head.hasBody) finish();
    const { status, statusText, headers, redirected } = head;
    const made = {
      source: head.hasBody ? { pull, cancel: finish } : undefined,
      kind: "basic" as const,
      url: head.url,
      redirected,
    };
    return makeResponse(made, { status, statusText, headers });
  } catch (error) {
    finish();
    throw signal.aborted ? signal.reason : failed(error);
  }
}

/** Sends a body as its stream gives it. Rejects only for what the stream itself did: the response tells of the rest. */
async function send(source: Exclude<Source, { bytes: Uint8Array }>, wire: Wire): Promise<void> {
  const { pull, cancel } = pullFrom(source);
  let isAnswered = false;
  // A server may answer before it has heard everything.
  const stop = (): void => {
    isAnswered = true;
    cancel(undefined);
  };
  wire.head.then(stop, stop);
  while (!isAnswered) {
    const bytes = await pull();
    if (isAnswered) return;
    try {
      if (bytes) await wire.write(bytes);
      else return await wire.end();
    } catch (error) {
      return cancel(error);
    }
  }
}

/** With what every request has that does not say otherwise. */
function wireHeaders(headers: Headers): [string, string][] {
  const all = [...headers];
  const add = (name: string, value: string): void => {
    if (!headers.has(name)) all.push([name, value]);
  };
  add("accept", "*/*");
  add("accept-language", "*");
  add("user-agent", "xdev");
  add("accept-encoding", "gzip, deflate, br");
  return all;
}

/** A refusal is told in the message, too: it says what would allow it. */
function failed(cause: unknown): TypeError {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  return new TypeError(code === "EACCES" ? `fetch failed: ${message}` : "fetch failed", { cause });
}

// Short names in a built text are not what they are called.
for (const [name, Class] of Object.entries({ Blob, File, FormData, Headers, Request, Response })) {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
Object.defineProperty(fetch, "name", { value: "fetch", configurable: true });
