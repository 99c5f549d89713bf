/**
 * models.yml, as one schema: what is validated, and what `z.toJSONSchema(modelsFileSchema, { io: "input" })` gives to
 * editors. Only models that the file lists are offered; a provider that is built in may leave `models` and `baseUrl` out
 * and is then the built-in one with another key, address or headers.
 *
 * `${NAME}` in any string value is the environment variable; `$${` is a literal `${`.
 */
import { z } from "zod";
import { API_ALIASES, API_NAMES, apiName, DEFAULT_API } from "./api.ts";
import { isBuiltin } from "./builtin.ts";
import { referenceProblem } from "./expand.ts";
import { urlProblem } from "./net.ts";

const template = z.string().superRefine((text, context) => {
  const problem = referenceProblem(text);
  if (problem) context.addIssue({ code: "custom", message: problem });
});

/** US dollars for a million tokens. */
const cost = z.strictObject({
  input: z.number().nonnegative().default(0),
  output: z.number().nonnegative().default(0),
  cacheRead: z.number().nonnegative().default(0),
  cacheWrite: z.number().nonnegative().default(0),
});

/** Flags of pi-ai for servers that deviate from their protocol (`maxTokensField`, `supportsDeveloperRole`, …). */
const compat = z
  .record(z.string(), z.unknown())
  .describe("pi-ai's compatibility flags, passed on as they are");

const model = z.strictObject({
  id: z.string().min(1).describe("what the server calls the model"),
  name: z.string().min(1).optional().describe("what people call it; default: the id"),
  contextWindow: z.int().positive().default(128_000).describe("in tokens"),
  maxTokens: z.int().positive().default(16_384).describe("of one answer, in tokens"),
  reasoning: z.boolean().default(false).describe("whether it can think before it answers"),
  input: z
    .array(z.enum(["text", "image"]))
    .nonempty()
    .default(["text"]),
  cost: cost.prefault({}),
  compat: compat.optional(),
});

export const providerSchema = z.strictObject({
  baseUrl: template
    .optional()
    .describe("as the protocol's SDK wants it: with /v1 for OpenAI's, without for Anthropic's"),
  apiKey: template
    .optional()
    .describe(
      `a key, best as \${NAME}; not needed on a loopback address; "none" for another server that wants none`,
    ),
  api: z
    .string()
    .refine((name) => apiName(name) !== undefined, {
      error: (issue) =>
        `unknown api "${String(issue.input)}"; known: ${API_NAMES.join(", ")} (also ${API_ALIASES.join(", ")})`,
    })
    .optional()
    .describe(`the protocol; default ${DEFAULT_API}`),
  headers: z.record(z.string(), template).optional().describe("sent with every request"),
  compat: compat.optional(),
  models: z.array(model).nonempty().superRefine(noTwice).optional(),
});

function noTwice(models: readonly { id: string }[], context: z.RefinementCtx): void {
  models.forEach(({ id }, index) => {
    if (models.findIndex((one) => one.id === id) < index) {
      context.addIssue({ code: "custom", path: [index, "id"], message: `"${id}" is there twice` });
    }
  });
}

/** Without a `${…}`, an address can be checked before anyone uses it. */
function complete(
  providers: Record<string, z.output<typeof providerSchema>>,
  context: z.RefinementCtx,
): void {
  for (const [name, { baseUrl, models }] of Object.entries(providers)) {
    const report = (message: string, ...path: string[]) =>
      context.addIssue({ code: "custom", path: [name, ...path], message });
    if (!isBuiltin(name)) {
      if (baseUrl === undefined) report("baseUrl is missing (only built-in providers have one of their own)");
      if (models === undefined) report("models is missing: list at least one, as `- id: name`");
    }
    const problem = baseUrl === undefined || baseUrl.includes("${") ? undefined : urlProblem(baseUrl);
    if (problem) report(problem, "baseUrl");
  }
}

export const modelsFileSchema = z.strictObject({
  providers: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "letters, digits, dot, dash and underscore"),
      providerSchema,
    )
    .superRefine(complete)
    .optional(),
  defaultModel: z
    .string()
    .regex(/^[^/]+\/.+$/, "provider/id")
    .optional()
    .describe("provider/id"),
});

export type ModelsFile = z.output<typeof modelsFileSchema>;
export type ProviderConfig = NonNullable<ModelsFile["providers"]>[string];
export type ModelConfig = z.output<typeof model>;
