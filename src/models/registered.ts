/**
 * Providers that extensions register (`pi.registerProvider`, action `register_provider`), as the model layer knows them. An extension
 * brings its own address and key: of the user's environment it gets what it may read anyway, and no name that means something already
 * can be taken. A built-in provider may be given another address or headers; the user's key for it does not go to another address.
 */
import type {
  Api,
  AssistantMessageEvent,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from "@earendil-works/pi-ai";
import * as v from "valibot";
import { XdevError } from "../base/errors.ts";
import { apiName, DEFAULT_API } from "./api.ts";
import { BUILTIN_NAMES, isBuiltin } from "./builtin.ts";
import { LOCAL_SERVERS } from "./local.ts";
import { urlProblem } from "./net.ts";

const line = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(4000),
  v.check((text) => !/[\0\r\n]/.test(text), "one line"),
);
const name = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(200),
  // It is shown in lists, a line each.
  v.check((text) => !/\p{Cc}|\p{Zl}|\p{Zp}/u.test(text), "one line"),
);
const noList = v.check((value: unknown) => !Array.isArray(value), "an object");
const record = v.pipe(v.unknown(), noList, v.record(v.string(), v.unknown()));
/**
 * Those that say where a request goes and where it ends: a server that serves many names would take one that comes with the user's key for
 * a request to somebody else.
 */
const NOT_ITS =
  /^(?:host|:.*|connection|content-length|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;
const headers = v.pipe(
  v.unknown(),
  noList,
  v.record(
    v.pipe(
      v.string(),
      v.regex(/^[\w!#$%&'*+.^`|~-]+$/),
      v.check((header) => !NOT_ITS.test(header), "a header that is the provider's own"),
    ),
    line,
  ),
);
const tokens = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1e9));
const dollars = v.nullish(v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e9)), 0);

const model = v.object({
  id: name,
  name: v.nullish(name),
  type: v.nullish(v.string()),
  api: v.nullish(name),
  baseUrl: v.nullish(line),
  reasoning: v.nullish(v.boolean(), false),
  thinkingLevelMap: v.nullish(v.pipe(v.unknown(), noList, v.record(v.string(), v.nullable(v.string())))),
  input: v.nullish(v.array(v.picklist(["text", "image"])), ["text"]),
  cost: v.nullish(v.object({ input: dollars, output: dollars, cacheRead: dollars, cacheWrite: dollars }), {}),
  contextWindow: v.nullish(tokens, 128_000),
  maxTokens: v.nullish(tokens, 16_384),
  headers: v.nullish(headers),
  compat: v.nullish(record),
  samplingParams: v.nullish(record),
});

const modelList = v.pipe(
  v.unknown(),
  v.check((value) => !Array.isArray(value) || value.length <= 1000, "at most 1000 models"),
  v.array(model),
);

const schema = v.object({
  name: v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)),
  baseUrl: v.nullish(line),
  apiKey: v.nullish(line),
  api: v.nullish(name),
  headers: v.nullish(headers),
  authHeader: v.nullish(v.boolean(), false),
  models: v.nullish(modelList),
  hasStream: v.nullish(v.boolean(), false),
  oauth: v.nullish(v.object({ name, changesModels: v.nullish(v.boolean(), false) })),
});

export type RegisteredConfig = v.InferOutput<typeof schema>;
export type RegisteredModel = v.InferOutput<typeof model>;

/** What the extension behind a provider does for it. */
export interface ProviderBackend {
  /** The extension's name, for the user. */
  extension: string;
  /** Its `streamSimple`. The last event is `done` or `error`; it never throws. */
  stream?(
    model: Model<Api>,
    context: TranscriptContext,
    options: SimpleStreamOptions,
    idleMs: number,
  ): AsyncIterable<AssistantMessageEvent>;
  /** Whether it may read an environment variable of the user's; he may be asked. */
  mayRead(variable: string): Promise<boolean>;
  login?: {
    isLoggedIn(): Promise<boolean>;
    /** The key of the credentials that the user got by `xdev login`, renewed if they have expired; undefined without any. */
    key(signal: AbortSignal | undefined): Promise<string | undefined>;
    /** What it made of its models for these credentials. */
    changedModels(): readonly RegisteredModel[] | undefined;
  };
}

export interface RegisteredProvider {
  name: string;
  config: RegisteredConfig;
  backend: ProviderBackend;
  /** It changes a built-in provider, and brings no models. */
  isOverride: boolean;
}

/** Names in small letters that mean something already; another spelling of one would only be taken for it. */
const taken = new Set([
  "replay",
  ...[...BUILTIN_NAMES, ...LOCAL_SERVERS.map(({ name }) => name)].map((known) => known.toLowerCase()),
]);
/** What one provider's description may have, in characters of JSON. */
const MAX_PAYLOAD = 1024 * 1024;

const wrong = (what: string) => new XdevError("bad-provider", what);

/**
 * Checks the payload of an action: what `pi.registerProvider` takes, without its functions (`hasStream` and `oauth` say which there
 * are). Throws `XdevError` with code `bad-provider` and what is wrong.
 *
 * @param mayNameVariables whether `$NAME` may stand for a variable: what a program may read is not known
 */
export function parseRegistered(
  payload: unknown,
  mayNameVariables: boolean,
): { config: RegisteredConfig; isOverride: boolean } {
  const text = JSON.stringify(payload) ?? "";
  if (text.length > MAX_PAYLOAD) throw wrong("a provider's description may have 1 MB");
  const result = v.safeParse(schema, payload, { abortEarly: true });
  if (!mayNameVariables && text.includes("${")) {
    throw wrong("variables are for models.yml and for modules, not for programs");
  }
  if (!result.success) {
    const path = v.getDotPath(result.issues[0]);
    if (path === "name" || path === null) {
      throw wrong("the provider's name must be 1 to 64 letters, digits, dots, dashes or underscores");
    }
    throw wrong(
      `${path.slice(0, 80)}: it is not what it must be (${result.issues[0].expected ?? "another value"})`,
    );
  }
  const config = result.output;
  const chat = config.models?.filter(({ type }) => type == null || type === "chat");
  const of = (what: string) => wrong(`provider ${config.name}: ${what}`);
  if (taken.has(config.name.toLowerCase()) && !isBuiltin(config.name)) {
    throw wrong(`the name ${config.name} is taken by a provider that xdev knows`);
  }
  const isOverride = config.models == null && !config.hasStream && config.oauth == null;
  if (isBuiltin(config.name) && !isOverride) {
    throw wrong(
      `the name ${config.name} is taken by a provider that xdev knows: an extension may give that another baseUrl, or headers, and no models, streamSimple or oauth`,
    );
  }
  if (config.apiKey?.startsWith("!")) {
    throw of("apiKey: a command is for the user to run: give a key, or a variable as $NAME");
  }
  if (config.baseUrl != null) checkAddress(config.baseUrl, "baseUrl", of);
  if (isOverride) {
    if (!isBuiltin(config.name)) throw of("it needs baseUrl and models");
    return { config, isOverride };
  }
  if (!chat?.length) throw of("it needs models");
  const ids = new Set(chat.map(({ id }) => id));
  if (ids.size < chat.length) throw of("two of its models have one id");
  for (const { id, api, baseUrl } of chat) checkModel(id, api ?? config.api, baseUrl, config, of);
  return { config: { ...config, models: chat }, isOverride };
}

function checkModel(
  id: string,
  api: string | null | undefined,
  baseUrl: string | null | undefined,
  config: RegisteredConfig,
  of: (what: string) => XdevError,
): void {
  if (baseUrl != null) checkAddress(baseUrl, `models: ${id}: baseUrl`, of);
  if (config.hasStream) return;
  if (api != null && apiName(api) === undefined) {
    throw of(`the api ${api.slice(0, 60)} is not known, and it brings no streamSimple`);
  }
  if (baseUrl == null && config.baseUrl == null) throw of("it needs baseUrl and models");
}

function checkAddress(text: string, where: string, of: (what: string) => XdevError): void {
  const problem = urlProblem(text);
  if (problem) throw of(`${where}: ${problem}`);
}

/** A list of models that an extension made of its own; undefined if it is none. */
export function parseModels(value: unknown): RegisteredModel[] | undefined {
  const result = v.safeParse(modelList, value, { abortEarly: true });
  if (!result.success) return undefined;
  const isFit = ({ baseUrl }: RegisteredModel) => baseUrl == null || urlProblem(baseUrl) === undefined;
  return result.output.every(isFit) ? result.output : undefined;
}

/** A model of it as requests need it. */
export function makeModel(provider: string, config: RegisteredConfig, given: RegisteredModel): Model<Api> {
  const {
    id,
    name,
    type: _,
    api,
    baseUrl,
    headers,
    thinkingLevelMap,
    compat,
    samplingParams,
    ...rest
  } = given;
  const wanted = api ?? config.api ?? DEFAULT_API;
  return {
    ...rest,
    id,
    name: name ?? id,
    provider,
    // A stream of its own has a protocol of its own.
    api: config.hasStream ? wanted : (apiName(wanted) ?? DEFAULT_API),
    baseUrl: (baseUrl ?? config.baseUrl ?? "").replace(/\/+$/, ""),
    ...(headers && { headers }),
    ...(thinkingLevelMap && { thinkingLevelMap }),
    ...(compat && { compat }),
    ...(samplingParams && { samplingParams }),
  } as Model<Api>;
}
