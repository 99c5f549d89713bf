/** The model of a run: the one that is named, the one that the session had, or the default. */
import { errorText } from "../base/errors.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import type { ModelOptions, ResolvedModel } from "../models/index.ts";
import type { RegisteredProvider } from "../models/registered.ts";
import type { RunSession } from "./run-session.ts";

export interface RunModel {
  resolved: ResolvedModel;
  /** For other models. */
  catalog: ModelCatalog;
}

export interface RunModelOptions {
  modelOptions: Omit<ModelOptions, "spec" | "registered">;
  /** Of `--model`. */
  spec: string | undefined;
  /** In the place of whatever is named. */
  given?: ResolvedModel | undefined;
  opening: Promise<RunSession>;
  /** The providers of extensions, once all have loaded. */
  registered: () => Promise<RegisteredProvider[]>;
  notice: (text: string) => void;
}

/** Throws like `resolveModel`, and what opening the session throws. */
export async function runModel(options: RunModelOptions): Promise<RunModel> {
  const { modelOptions, spec, opening, notice } = options;
  let brought: RegisteredProvider[] = [];
  const [{ resolveModel }, { modelCatalog }] = await Promise.all([
    import("../models/index.ts"),
    import("../models/catalog.ts"),
  ]);
  const resolve = (wanted: string | undefined) =>
    resolveModel({
      ...modelOptions,
      registered: brought,
      ...(wanted === undefined ? {} : { spec: wanted }),
    });
  // An extension may bring the provider that is asked for: then the answer is only known when all have loaded.
  const find = (wanted: string | undefined) =>
    resolve(wanted).catch(async (error: unknown) => {
      if (brought.length === 0) brought = await options.registered();
      if (brought.length === 0) throw error;
      return resolve(wanted);
    });
  const catalog = modelCatalog(() => ({ ...modelOptions, registered: brought }));
  if (options.given) return { resolved: options.given, catalog };
  if (spec !== undefined) return { resolved: await find(spec), catalog };
  const { store, reason } = await opening;
  const had = reason === "startup" ? null : store.buildContext().model;
  if (had) {
    const { provider, modelId } = had;
    try {
      const wanted = provider === "replay" ? `replay:${modelId}` : `${provider}/${modelId}`;
      return { resolved: await find(wanted), catalog };
    } catch (error) {
      notice(`the session's model can't be used: ${errorText(error)}`);
    }
  }
  return { resolved: await find(undefined), catalog };
}
