/**
 * Requests of an extension with a key of its own: the protocol's code runs here, and reaches what the permission `net` lets it. The
 * host has no part in it and its keys none.
 */

import { own } from "xdev:system";
import type {
  Api,
  AssistantMessageEventStream,
  Context,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import { isHandle, known } from "./models.ts";
import { spoken } from "./transcript.ts";

export type Stream = (
  model: Model<Api>,
  context: Context,
  options?: SimpleStreamOptions,
) => AssistantMessageEventStream;

interface Protocol {
  stream: Stream;
  streamSimple: Stream;
}

const openai = () => own("internal/pi-ai-openai") as Record<"completions" | "responses", Protocol>;
const protocolOf = (text: string) => (): Protocol => own(text) as unknown as Protocol;

const PROTOCOLS: Readonly<Record<string, () => Protocol>> = {
  "anthropic-messages": protocolOf("internal/pi-ai-anthropic"),
  "mistral-conversations": protocolOf("internal/pi-ai-mistral"),
  "openai-completions": () => openai().completions,
  "openai-responses": () => openai().responses,
};

/** Whether there is a key that is none of the host's handles. */
const hasOwnKey = (options: SimpleStreamOptions | undefined): boolean =>
  typeof options?.apiKey === "string" && options.apiKey !== "" && !isHandle(options.apiKey);

/** By a function of the protocol itself, which is called with everything that a request needs. */
export function ownProtocol(
  api: string,
  kind: keyof Protocol,
  options: SimpleStreamOptions | undefined,
): Stream | undefined {
  if (!hasOwnKey(options) || !Object.hasOwn(PROTOCOLS, api)) return undefined;
  const stream = PROTOCOLS[api]!()[kind];
  const normalize = own("internal/pi-ai").normalizeContext as (context: Context) => Context;
  return (model, context, given) => stream(model, normalize(spoken(context)), given);
}

/** By pi-ai's general functions: a model that the host knows is asked by the host. */
export function ownRequest(
  model: Model<Api> | undefined,
  kind: keyof Protocol,
  options: SimpleStreamOptions | undefined,
): Stream | undefined {
  if (!model || !hasOwnKey(options)) return undefined;
  const isKnown = known(model.provider).models.some(
    ({ provider, id }) => provider === model.provider && id === model.id,
  );
  return isKnown ? undefined : ownProtocol(model.api, kind, options);
}
