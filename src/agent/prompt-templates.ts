/** Prompt templates: `name.md` in a folder `prompts` is the command `/name args`. */
import type { ResourceDiagnostic, ResourceOrigin, ResourcePlaces } from "./resources.ts";

export interface PromptTemplate {
  name: string;
  /** Of the front matter, else the first line. */
  description: string;
  argumentHint?: string;
  content: string;
  filePath: string;
  origin: ResourceOrigin;
}

/** All templates of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadPromptTemplates(
  _places: ResourcePlaces,
): Promise<{ templates: PromptTemplate[]; diagnostics: ResourceDiagnostic[] }> {
  throw new Error("not yet");
}

/** What `/name args` stands for. Undefined for any other text, and for a name that no template has. */
export function expandTemplate(_text: string, _templates: readonly PromptTemplate[]): string | undefined {
  throw new Error("not yet");
}
