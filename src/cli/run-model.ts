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
  /** The same, once all extensions have loaded: one of them may have changed the provider. Throws like `resolveModel`. */
  confirm(): Promise<RunModel>;
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
  /** Those that there are now. */
  providers: () => RegisteredProvider[];
  notice: (text: string) => void;
}

/** Throws like `resolveModel`, and what opening the session throws. */
export async function runModel(options: RunModelOptions): Promise<RunModel> {
  const { modelOptions, spec, opening, notice } = options;
  const [{ resolveModel }, { modelCatalog }] = await Promise.all([
    import("../models/index.ts"),
    import("../models/catalog.ts"),
  ]);
  const resolve = (wanted: string | undefined) =>
    resolveModel({
      ...modelOptions,
      registered: options.providers(),
      ...(wanted === undefined ? {} : { spec: wanted }),
    });
  // An extension may bring the provider that is asked for: then the answer is only known when all have loaded.
  const find = async (wanted: string | undefined): Promise<ResolvedModel> => {
    const before = options.providers().length;
    try {
      return await resolve(wanted);
    } catch (error) {
      if ((await options.registered()).length === before) throw error;
      return resolve(wanted);
    }
  };
  const catalog = modelCatalog(() => ({ ...modelOptions, registered: options.providers() }));
  const found = (resolved: ResolvedModel): RunModel => ({
    resolved,
    catalog,
    async confirm() {
      const { provider, id } = resolved.model;
      const isChanged = (await options.registered()).some((one) => one.isOverride && one.name === provider);
      return isChanged ? found(await resolve(`${provider}/${id}`)) : found(resolved);
    },
  });
  if (options.given) {
    const given: RunModel = { resolved: options.given, catalog, confirm: async () => given };
    return given;
  }
  if (spec !== undefined) return found(await find(spec));
  const { store, reason } = await opening;
  const had = reason === "startup" ? null : store.buildContext().model;
  if (had) {
    const { provider, modelId } = had;
    try {
      const wanted = provider === "replay" ? `replay:${modelId}` : `${provider}/${modelId}`;
      return found(await find(wanted));
    } catch (error) {
      notice(`the session's model can't be used: ${errorText(error)}`);
    }
  }
  return found(await find(undefined));
}
