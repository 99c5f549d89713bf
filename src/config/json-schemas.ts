/** The JSON Schemas of the files that a user writes, for editors: generated from the schemas that check them. */
import { z } from "zod";

/**
 * By name: `config` (config.yml), `hook` (a file in a hooks folder), `models` (models.yml), `replay` (replay files),
 * `manifest` (package.json, key `xdev`), `test` (scripts for `xdev ext test`).
 */
export async function jsonSchemas(): Promise<Record<string, z.core.JSONSchema.BaseSchema>> {
  const [
    { settingsSchema },
    { hookFileSchema },
    { modelsFileSchema },
    { replaySchema },
    { manifestSchema },
    { testScriptSchema },
  ] = await Promise.all([
    import("./schema.ts"),
    import("../hooks/schema.ts"),
    import("../models/schema.ts"),
    import("../models/replay-schema.ts"),
    import("../extensions/manifest.ts"),
    import("../testing/script.ts"),
  ]);
  const convert = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" });
  return {
    config: convert(settingsSchema),
    hook: convert(hookFileSchema),
    models: convert(modelsFileSchema),
    replay: convert(replaySchema),
    manifest: convert(manifestSchema),
    test: convert(testScriptSchema),
  };
}
