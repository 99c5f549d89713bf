/** What a module asks of the host about the model providers that it registered (providers.ts), as calls. */
import type { Api, Model, SimpleStreamOptions } from "@earendil-works/pi-ai";
import * as v from "valibot";
import { stripControls } from "../base/text.ts";
import type { CallServices } from "./calls.ts";
import type { Extension } from "./extension.ts";

const text = v.pipe(v.string(), v.maxLength(20_000));
const stream = v.pipe(v.string(), v.maxLength(40));
const shown = v.pipe(text, v.transform(stripControls));
const oneLine = v.pipe(
  text,
  v.transform((value) => stripControls(value).replace(/\s+/g, " ").trim()),
);

const url = v.pipe(
  v.string(),
  v.maxLength(8000),
  v.check(
    (value) => /^https?:\/\/[\x21-\x7e]+$/.test(value) && URL.canParse(value),
    "an address with http: or https:",
  ),
);

const question = v.variant("what", [
  v.object({ what: v.literal("url"), url, instructions: v.nullish(shown) }),
  v.object({
    what: v.literal("deviceCode"),
    url,
    userCode: oneLine,
    expiresInSeconds: v.nullish(v.pipe(v.number(), v.finite())),
  }),
  v.object({ what: v.literal("progress"), message: oneLine }),
  v.object({
    what: v.literal("prompt"),
    message: shown,
    placeholder: v.nullish(oneLine),
    allowEmpty: v.nullish(v.boolean(), false),
  }),
  v.object({ what: v.literal("manualCode") }),
  v.object({
    what: v.literal("select"),
    message: shown,
    options: v.pipe(v.array(v.object({ id: text, label: oneLine })), v.minLength(1), v.maxLength(100)),
  }),
]);

/** What a `login` of a module's tells the user, or asks: an answer is a text, of `select` an `id`. */
export type LoginQuestion = v.InferOutput<typeof question>;

interface StandingRequest {
  options: SimpleStreamOptions;
  model: Model<Api>;
}

/** Requests that are being answered, by what the module calls them: it may ask about its own alone. */
const standing = new WeakMap<Extension, Map<string, StandingRequest>>();

/** How many requests one module may be answering at once: one that asks itself would go on for ever. */
const MAX_REQUESTS = 16;

/**
 * A module begins to answer a request to a model: it may ask about it, until the function that this gives is called. Throws when
 * there are too many; completes "extension x …".
 */
export function keepRequest(extension: Extension, name: string, request: StandingRequest): () => void {
  const own = standing.get(extension) ?? new Map<string, StandingRequest>();
  if (own.size >= MAX_REQUESTS)
    throw new Error(`is answering ${MAX_REQUESTS} requests to its models already`);
  standing.set(extension, own.set(name, request));
  return () => own.delete(name);
}

/** Whether a module is answering a request to a model of its provider of that name. */
export function isAnswering(extension: Extension, provider: string): boolean {
  const own = [...(standing.get(extension)?.values() ?? [])];
  return own.some(({ model }) => model.provider === provider);
}

function standingRequest(extension: Extension, name: string): StandingRequest {
  const request = standing.get(extension)?.get(name);
  if (!request) throw new Error("there is no such request to a model");
  return request;
}

const headers = v.nullish(
  v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value), "an object"),
    v.record(v.string(), v.unknown()),
  ),
  {},
);

export const PROVIDER_CALLS = {
  /** `options.onPayload`: what the other modules make of a request (`before_provider_request`). */
  "provider.payload": {
    params: v.object({ stream, payload: v.optional(v.unknown()) }),
    async run(extension: Extension, params: { stream: string; payload?: unknown }) {
      const { options, model } = standingRequest(extension, params.stream);
      const payload = await options.onPayload?.(params.payload, model);
      return payload === undefined ? { isChanged: false } : { isChanged: true, payload };
    },
  },
  /** `options.onResponse`. */
  "provider.response": {
    params: v.object({
      stream,
      status: v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(999)),
      headers,
    }),
    async run(
      extension: Extension,
      params: { stream: string; status: number; headers: Record<string, unknown> },
    ) {
      const { options, model } = standingRequest(extension, params.stream);
      const texts = Object.entries(params.headers).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      );
      await options.onResponse?.({ status: params.status, headers: Object.fromEntries(texts) }, model);
      return {};
    },
  },
  "provider.login": {
    params: question,
    async run(
      extension: Extension,
      asked: LoginQuestion,
      { loginQuestion }: CallServices,
      asking: () => () => void,
    ) {
      if (!loginQuestion) throw new Error("nobody is logging in: that is what `xdev login` is for");
      const over = asking();
      try {
        return (await loginQuestion(extension, asked)) ?? null;
      } finally {
        over();
      }
    },
  },
} as const;
