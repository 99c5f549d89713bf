/**
 * A request of an extension to a model (pi-ai's `stream`). The extension names the model and says what to ask; address, headers and
 * key are the host's, whatever the extension believes them to be.
 */
import type { Api, AssistantMessage, AssistantMessageEvent, Context, Model } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { XdevError } from "../base/errors.ts";
import { redact } from "../base/log.ts";
import type { FullCatalog, ModelCatalog } from "./catalog.ts";
import { guestModel } from "./guest-model.ts";
import type { NamedProvider, ResolvedModel } from "./index.ts";

export interface ModelRequest {
  provider: string;
  modelId: string;
  context: Context;
  options: ModelRequestOptions;
}

export interface ModelRequestOptions {
  /** Of the answer, in tokens. */
  maxTokens?: number;
  temperature?: number;
  reasoning?: "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  toolChoice?: "auto" | "none";
  cacheRetention?: "none" | "short" | "long";
}

export interface KnownModels {
  models: Omit<Model<Api>, "headers">[];
  providers: NamedProvider[];
}

/**
 * The models of one provider, whether or not it can be used, or of all that are configured. `own` is the session's, which need not
 * be in any list.
 */
export async function knownModels(
  catalog: FullCatalog,
  own: Model<Api> | undefined,
  provider?: string,
): Promise<KnownModels> {
  const { models, providers } = await catalog.known(provider);
  const ofOthers = models.filter((model) => model.provider !== own?.provider || model.id !== own.id);
  const isWanted = own !== undefined && (provider === undefined || own.provider === provider);
  // The session's own is in use; a replay is in no list.
  const isListed = own === undefined || providers.some(({ name }) => name === own.provider);
  const listed = providers.map((one) => (one.name === own?.provider ? { ...one, usable: true } : one));
  return {
    models: (isWanted ? [own, ...ofOthers] : ofOthers).map(guestModel),
    providers: isListed ? listed : [{ name: own.provider, usable: true }, ...listed],
  };
}

/**
 * The events of the answer, the last of which is `done` or `error`. Throws XdevError `unknown-model` or `no-model` for a model that
 * the host does not know or has no credentials for.
 */
export async function* askModel(
  { provider, modelId, context, options }: ModelRequest,
  own: ResolvedModel | undefined,
  catalog: () => Promise<ModelCatalog>,
  signal: AbortSignal,
): AsyncGenerator<AssistantMessageEvent> {
  const { model, stream } = isModel(own, provider, modelId)
    ? own
    : await other(await catalog(), provider, modelId);
  const events = await stream(model, normalizeContext(context), { ...options, signal });
  for await (const event of events) {
    if (event.type === "error") yield { ...event, error: told(event.error) };
    else yield event;
  }
}

async function other(catalog: ModelCatalog, provider: string, modelId: string): Promise<ResolvedModel> {
  const unknown = new XdevError("unknown-model", `there is no model ${provider}/${modelId}`, {
    hint: "`xdev models` lists what can be used.",
  });
  // A replay is a file of the user's; only the session's own is open to extensions.
  if (provider === "replay") throw unknown;
  const found = await catalog.resolve(provider, modelId);
  // A name may also be understood as an id alone; here it is exact.
  if (!isModel(found, provider, modelId)) throw unknown;
  return found;
}

function isModel(
  resolved: ResolvedModel | undefined,
  provider: string,
  modelId: string,
): resolved is ResolvedModel {
  return resolved?.model.provider === provider && resolved.model.id === modelId;
}

/** A failed answer as an extension may see it. */
function told({ diagnostics: _, ...message }: AssistantMessage): AssistantMessage {
  const { errorMessage } = message;
  return errorMessage === undefined ? message : { ...message, errorMessage: redact(errorMessage) };
}
