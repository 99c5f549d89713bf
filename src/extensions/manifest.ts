/** What an extension package says of itself in package.json; its JSON Schema is generated from this. */
import { z } from "zod";
import { misplaced } from "../../sandbox/permissions/misplaced.ts";
import { permissionsSchema } from "../../sandbox/permissions/schema.ts";
import { errorText, XdevError } from "../base/errors.ts";

export const manifestSchema = z.object({
  extensions: z
    .array(z.string().min(1))
    .min(1)
    .max(100)
    .optional()
    .describe("the package's extension modules, as paths relative to its folder"),
  permissions: permissionsSchema
    .optional()
    .describe("what its extensions may ask the user for; without it that is guessed from their code"),
});

/** Under another name than `xdev`, `permissions` is another agent's and means nothing here. */
const foreignSchema = manifestSchema.omit({ permissions: true });

export type Manifest = z.infer<typeof manifestSchema>;

/** The keys of this family under which a manifest stands in package.json; the first that names extensions counts. */
export const MANIFEST_KEYS = ["xdev", "xcsh", "omp", "pi"] as const;

/** The manifest in the text of a package.json; an empty one if it has none. Throws `XdevError` `not-an-extension`. */
export function parseManifest(text: string, file: string): Manifest {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new XdevError("not-an-extension", `${file} is not valid JSON: ${errorText(error)}`);
  }
  if (typeof content !== "object" || content === null) return {};
  const wrong = misplaced(content);
  if (wrong !== undefined) throw new XdevError("not-an-extension", `${file}: ${wrong}`);
  let manifest: Manifest = {};
  for (const key of MANIFEST_KEYS) {
    if (!Object.hasOwn(content, key)) continue;
    const schema: z.ZodType<Manifest> = key === "xdev" ? manifestSchema : foreignSchema;
    const result = schema.safeParse((content as Record<string, unknown>)[key]);
    if (!result.success) {
      const issue = result.error.issues[0];
      const path = [key, ...(issue?.path ?? [])].join(".");
      throw new XdevError("not-an-extension", `${file}: ${path}: ${issue?.message ?? "is not valid"}`);
    }
    // Permissions are ours alone, whoever names the modules.
    manifest = { ...result.data, ...manifest };
    if (manifest.extensions) break;
  }
  return manifest;
}
