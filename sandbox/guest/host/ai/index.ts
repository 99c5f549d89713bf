/**
 * `pi-ai` as a guest module, with what its versions have had at their entry, in `compat` and in `oauth`: requests that the host makes,
 * what the host knows of models, and the package's own helpers, evaluated when one of them is asked for.
 */

import { own } from "xdev:system";
import {
  AssistantMessageEventStream,
  createAssistantMessageEventStream,
  EventStream,
} from "@earendil-works/pi-ai/utils/event-stream";
import { StringEnum } from "@earendil-works/pi-ai/utils/string-enum";
import { withParts } from "../../in-parts.ts";
import { getEnvApiKey, getModel, getModels, getProviders } from "./models.ts";
import { all as providers } from "./providers.ts";
import { all as refused } from "./refused.ts";

const HELPERS = `
  AI_TELEMETRY_SCHEMA CACHE_WARMING_IDLE_CONTINUATION_PROBABILITY CACHE_WARMING_MAX_AGE_MS CACHE_WARMING_MAX_IDLE_AGE_MS
  CACHE_WARMING_MINIMUM_EXPECTED_SAVINGS DEFAULT_MAX_AGENT_RETRY_DELAY_MS InMemoryCredentialStore InMemoryModelsStore ModelsError
  PI_AI_VERSION PI_ATTRIBUTION StreamingJsonParser ToolCallArgumentsStream appendAssistantMessageDiagnostic calculateCost
  clampThinkingLevel cleanupSessionResources collapseSystemMessages contentText createAssistantMessageDiagnostic createFauxCore
  createInitialSystemMessage createModels createProvider declarationsEqual defaultProviderAuthContext envApiKeyAuth
  evaluateCacheWarming extractDiagnosticError fauxAssistantMessage fauxProvider fauxText fauxThinking fauxToolCall
  formatThrownValue formatUserAgent getAttributionHeaders getCacheWarmingDelayMs getCacheWarmingRequestOptions getClientVersion
  getCurrentSystemMessage getCurrentSystemPrompt getCurrentTools getDeclaredTools getIdentityHeaders getInitialSystemMessage
  getModelType getOpenCodeSessionHeaders getOverflowPatterns getPromptCacheTtlMs getSupportedThinkingLevels getSystemMessageText
  getToolStateChanges hasApi hasNonAdditiveToolChanges hasToolRedefinitions isCacheWarmingReplayable isContextOverflow isModelType
  isRecoverableLength isRetryableAssistantError lazyApi lazyOAuth lazyStream mergeClientIdentity modelsAreEqual normalizeContext
  parseJsonWithRepair parseStreamingJson parseToolCallArguments registerSessionResourceCleanup renderSystemMessageUpdate repairJson
  resolveTranscript resolveTranscriptTools retryAssistantCall retryDelayMs toToolDeclaration uuidv7 validateToolArguments
  validateToolCall withClientIdentity withoutInitialSystemMessage`;

type Faux = (options?: object) => { api: string; models: unknown[]; provider: Record<string, unknown> };

const helpers = (): Record<string, unknown> => own("internal/pi-ai");

/** Of older versions: whether a model knows the level above `high`. */
function supportsXhigh(model: unknown): boolean {
  const levels = helpers().getSupportedThinkingLevels as (model: unknown) => string[];
  return levels(model).includes("xhigh");
}

/** A scripted provider, as an API of this extension. */
function registerFauxProvider(options: object = {}): unknown {
  const faux = (helpers().createFauxCore as Faux)(options) as ReturnType<Faux> & Record<string, unknown>;
  const { registerApiProvider, unregisterApiProviders } = providers as Record<
    string,
    (...args: unknown[]) => void
  >;
  const source = `faux-${faux.api}`;
  registerApiProvider!({ api: faux.api, stream: faux.stream, streamSimple: faux.streamSimple }, source);
  return { ...faux, unregister: () => unregisterApiProviders!(source) };
}

export const all = withParts(
  {
    ...{ AssistantMessageEventStream, createAssistantMessageEventStream, EventStream, StringEnum },
    ...{ getEnvApiKey, getModel, getModels, getProviders, registerFauxProvider, supportsXhigh },
    // As the package's providers/all and omp have them.
    ...{ getBuiltinModel: getModel, getBuiltinModels: getModels, getBuiltinProviders: getProviders },
    getBundledModel: getModel,
    ...providers,
    ...refused,
  },
  [
    { names: HELPERS.trim().split(/\s+/), load: helpers },
    { names: ["Type"], load: () => own("typebox") },
  ],
);
