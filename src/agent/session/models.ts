/** The model of a session and how much it thinks: chosen by the user, kept as entries, and known again when the session goes on. */
import type { ThinkingLevel } from "@earendil-works/pi-agent-core";
import type { Api, Model } from "@earendil-works/pi-ai";
import { clampThinkingLevel, getSupportedThinkingLevels } from "@earendil-works/pi-ai/models";
import { errorText, XdevError } from "../../base/errors.ts";
import type { ResolvedModel } from "../../models/index.ts";
import { publicModel } from "../../models/public.ts";
import type { SessionContext } from "../../session/types.ts";
import type { Core } from "./core.ts";

export const THINKING_LEVELS: readonly ThinkingLevel[] = [
  "off",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
];

export function isThinkingLevel(value: string): value is ThinkingLevel {
  return (THINKING_LEVELS as readonly string[]).includes(value);
}

export async function availableModels(core: Core): Promise<Model<Api>[]> {
  const listed = (await core.options.models?.list()) ?? [];
  const own = core.model?.model;
  return own && !listed.some((model) => isSame(model, own)) ? [own, ...listed] : listed;
}

export async function setModel(
  core: Core,
  provider: string,
  modelId: string,
  source: "set" | "cycle" | "restore" = "set",
): Promise<Model<Api>> {
  const previous = core.model?.model;
  const resolved = await resolve(core, provider, modelId);
  core.setResolved(resolved);
  const { model } = resolved;
  recordChoices(core);
  core.emit({ type: "model_select", model, previousModel: previous, source });
  if (core.events?.listens("model_select")) {
    core.events.emit("model_select", {
      model: publicModel(model),
      previousModel: previous && publicModel(previous),
      source,
    });
  }
  fitThinkingLevel(core);
  return model;
}

async function resolve(core: Core, provider: string, modelId: string): Promise<ResolvedModel> {
  const own = core.model;
  if (own?.model.provider === provider && own.model.id === modelId) return own;
  const { models } = core.options;
  if (!models) throw new XdevError("unknown-model", `there is no model ${provider}/${modelId}`);
  return models.resolve(provider, modelId);
}

export async function cycleModel(
  core: Core,
): Promise<{ model: Model<Api>; thinkingLevel: ThinkingLevel; isScoped: boolean } | undefined> {
  const { scopedModels } = core.options;
  const isScoped = scopedModels !== undefined && scopedModels.length > 0;
  const all = isScoped
    ? scopedModels
    : (await availableModels(core)).map(({ provider, id }) => ({ provider, modelId: id }));
  if (all.length < 2) return undefined;
  const own = core.model?.model;
  const at = all.findIndex(({ provider, modelId }) => provider === own?.provider && modelId === own.id);
  const next: (typeof all)[number] & { thinkingLevel?: ThinkingLevel } = all[(at + 1) % all.length]!;
  const model = await setModel(core, next.provider, next.modelId, "cycle");
  if (next.thinkingLevel) setThinkingLevel(core, next.thinkingLevel);
  return { model, thinkingLevel: core.thinkingLevel, isScoped };
}

/** Another model may know other levels. */
function fitThinkingLevel(core: Core): void {
  if (core.thinkingLevel !== "off") setThinkingLevel(core, core.thinkingLevel);
}

export function setThinkingLevel(core: Core, wanted: ThinkingLevel): void {
  const level = fitted(core, wanted);
  const previousLevel = core.thinkingLevel;
  if (level === previousLevel) return;
  core.thinkingLevel = level;
  recordChoices(core);
  core.publish({ type: "thinking_level_select", level, previousLevel });
  core.emit({ type: "thinking_level_changed", level });
}

function fitted(core: Core, level: ThinkingLevel): ThinkingLevel {
  const model = core.model?.model;
  if (!model || level === "off") return level;
  return clampThinkingLevel(model, level);
}

export function thinkingLevels(core: Core): ThinkingLevel[] {
  const model = core.model?.model;
  if (!model?.reasoning) return ["off"];
  return getSupportedThinkingLevels(model);
}

export function cycleThinkingLevel(core: Core): ThinkingLevel | undefined {
  const levels = thinkingLevels(core);
  if (levels.length < 2) return undefined;
  const next = levels[(levels.indexOf(core.thinkingLevel) + 1) % levels.length]!;
  setThinkingLevel(core, next);
  return next;
}

/**
 * Writes down the model and the level where they are not what the branch says. Nothing is written before there is a conversation,
 * or `resume` would find sessions in which nothing was said.
 */
export function recordChoices(core: Core): void {
  const { model, thinkingLevel } = core.recorded;
  const own = core.model?.model;
  if (own && (model?.provider !== own.provider || model.modelId !== own.id)) {
    core.keep({ type: "model_change", provider: own.provider, modelId: own.id });
    core.recorded.model = { provider: own.provider, modelId: own.id };
  }
  if (thinkingLevel !== core.thinkingLevel) {
    core.keep({ type: "thinking_level_change", thinkingLevel: core.thinkingLevel });
    core.recorded.thinkingLevel = core.thinkingLevel;
  }
}

/** A session that goes on has the model and the level that it had, unless the user says otherwise. */
export async function restoreChoices(
  core: Core,
  { model, thinkingLevel }: SessionContext,
  isModelChosen: boolean,
  level?: ThinkingLevel,
): Promise<void> {
  core.recorded = { model, thinkingLevel };
  const own = core.model?.model;
  if (!isModelChosen && model && !(own?.provider === model.provider && own.id === model.modelId)) {
    try {
      core.setResolved(await resolve(core, model.provider, model.modelId));
    } catch (error) {
      core.notice(`the session's model can't be used: ${errorText(error)}`);
    }
  }
  const wanted = level ?? (isThinkingLevel(thinkingLevel) ? thinkingLevel : "off");
  core.thinkingLevel = fitted(core, wanted);
}

function isSame(one: Model<Api>, other: Model<Api>): boolean {
  return one.provider === other.provider && one.id === other.id;
}
