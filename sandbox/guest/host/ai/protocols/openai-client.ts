/**
 * In the place of OpenAI's SDK, of which pi-ai uses one request and its stream of events. The SDK is ten times as large, and sets what is
 * read-only here.
 */

interface ClientOptions {
  apiKey?: string;
  baseURL?: string;
  fetch?: typeof globalThis.fetch;
  defaultHeaders?: Record<string, string | null | undefined>;
}

interface RequestOptions {
  signal?: AbortSignal;
  /** In ms, until the answer begins. */
  timeout?: number;
}

/** As pi-ai reads it: of what the server said, or of a connection that failed, without a status. */
class ApiError extends Error {
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  readonly error: unknown;

  constructor(message: string, { status, headers, error, cause }: Partial<ApiError>) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.headers = headers;
    this.error = error;
  }
}

type Answer = Promise<{ data: AsyncIterable<unknown>; response: Response }>;

export default class OpenAI {
  static readonly APIError = ApiError;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  readonly chat = { completions: { create: this.#create("/chat/completions") } };
  readonly responses = { create: this.#create("/responses") };

  #create(path: string) {
    return (body: unknown, options: RequestOptions = {}) => ({
      withResponse: (): Answer => this.#request(path, body, options),
    });
  }

  async #request(path: string, body: unknown, { signal, timeout }: RequestOptions): Answer {
    const { apiKey, baseURL = "https://api.openai.com/v1", defaultHeaders = {}, fetch } = this.#options;
    const headers = new Headers({ accept: "application/json", "content-type": "application/json" });
    if (apiKey) headers.set("authorization", `Bearer ${apiKey}`);
    for (const [name, value] of Object.entries(defaultHeaders)) {
      // Null takes a header away.
      if (value == null) headers.delete(name);
      else headers.set(name, value);
    }
    const late = new AbortController();
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => late.abort(new Error("Request timed out.")), timeout);
    const signals = signal ? [signal, late.signal] : [late.signal];
    let response: Response;
    try {
      response = await (fetch ?? globalThis.fetch)(`${baseURL.replace(/\/+$/, "")}${path}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.any(signals),
      });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new ApiError("Connection error.", { cause });
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw await failure(response);
    return { data: eventsOf(response), response };
  }
}

async function failure(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = undefined;
  }
  const error = (said as { error?: unknown } | undefined)?.error ?? said;
  const why = (error as { message?: unknown } | undefined)?.message;
  const message = typeof why === "string" ? why : text || "status code (no body)";
  const { status, headers } = response;
  return new ApiError(`${status} ${message}`, { status, headers, error });
}

/** The data of each event, parsed, up to `[DONE]`. */
async function* eventsOf(response: Response): AsyncGenerator<unknown> {
  if (!response.body) throw new ApiError("the answer is empty", {});
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // What ends with an empty line is an event; at the end, what is left is one.
      const blocks = (done ? `${rest}\n\n` : rest).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = dataOf(block);
        if (data === undefined) continue;
        if (data.startsWith("[DONE]")) return;
        const event = JSON.parse(data) as { error?: unknown };
        if (event?.error) throw new ApiError(messageOf(event.error), { error: event.error });
        yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function dataOf(block: string): string | undefined {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  if (lines.length === 0) return undefined;
  return lines.map((line) => line.slice(5).trimStart()).join("\n");
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : JSON.stringify(error);
}
