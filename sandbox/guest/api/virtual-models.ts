/**
 * Models that are none: each request of theirs goes to one that the extension chooses (pi's `registerVirtualModel`). The host knows them
 * as the models of a provider whose answers come out of the sandbox (providers.ts); which model that answer is asked of is found out
 * here. So it takes the permission `provider`, and `model` for the models behind it. What the choice rests on lasts as long as the extension
 * and the session do. Loaded with the first.
 */
type Json = Record<string, unknown>;

interface Message {
  role: string;
}

interface Route {
  model: Json;
  thinkingLevel?: string;
  state?: unknown;
}

interface VirtualModel extends Json {
  provider: string;
  id: string;
  thinkingLevels?: readonly string[];
  route(request: Json, ctx: unknown): Route | Promise<Route>;
}

/** What the requests of one session have come to. */
interface Memory {
  session: string;
  state: unknown;
  previous: { model: Json; thinkingLevel: string } | undefined;
}

type Stream = (model: Json, context: Json, options: Json) => AsyncIterable<unknown>;

export interface VirtualModels {
  /** Gives the provider's config, for `registerProvider`. Throws a `TypeError` for what is none. */
  add(model: unknown): { name: string; config: Json };
  /** Gives what is left of the provider; `config` is undefined when it has none any more. */
  remove(provider: unknown, id: unknown): { name: string; config: Json | undefined };
}

export function createVirtualModels(
  context: () => unknown,
  sessionId: () => string,
  loadStream: () => Stream,
): VirtualModels {
  const models = new Map<string, Map<string, VirtualModel>>();
  const memories = new Map<VirtualModel, Memory>();

  const streamSimple = async (asked: Json, given: Json, options: Json): Promise<unknown> => {
    const model = models.get(String(asked.provider))?.get(String(asked.id));
    if (!model) throw new Error(`has no virtual model ${String(asked.id)}`);
    const session = sessionId();
    let memory = memories.get(model);
    if (memory?.session !== session) memory = { session, state: undefined, previous: undefined };
    const messages = given.messages as Message[];
    const thinkingLevel = String(options.reasoning ?? "off");
    const { previous, state } = memory;
    const route = await model.route(
      {
        model: asked,
        thinkingLevel,
        reason: messages.at(-1)?.role === "user" ? "user" : "continuation",
        ...(previous ? { previous } : {}),
        ...(state === undefined ? {} : { state }),
        messages,
        signal: options.signal,
      },
      context(),
    );
    const { reasoning: _, ...rest } = options;
    const level = String(route.thinkingLevel ?? thinkingLevel);
    memories.set(model, {
      session,
      state: route.state ?? state,
      previous: { model: route.model, thinkingLevel: level },
    });
    return loadStream()(route.model, given, level === "off" ? rest : { ...rest, reasoning: level });
  };

  const configOf = (name: string): Json | undefined => {
    const own = models.get(name);
    if (!own || own.size === 0) return undefined;
    const listed = [...own.values()].map(({ id, name, contextWindow, maxTokens, input, thinkingLevels }) => ({
      id,
      name: name ?? id,
      reasoning: (thinkingLevels ?? []).some((level) => level !== "off"),
      input: input ?? ["text", "image"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
    }));
    return { api: "virtual", models: listed, streamSimple };
  };

  return {
    add(given) {
      const model = given as VirtualModel;
      if (typeof model?.provider !== "string" || typeof model.id !== "string") {
        throw new TypeError("pi.registerVirtualModel: provider and id must be texts");
      }
      if (typeof model.route !== "function") {
        throw new TypeError(`pi.registerVirtualModel("${model.id}"): route is no function`);
      }
      const own = models.get(model.provider) ?? new Map<string, VirtualModel>();
      models.set(model.provider, own.set(model.id, model));
      return { name: model.provider, config: configOf(model.provider)! };
    },
    remove(provider, id) {
      const name = String(provider);
      models.get(name)?.delete(String(id));
      return { name, config: configOf(name) };
    },
  };
}
