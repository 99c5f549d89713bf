/** Skills: folders with a `SKILL.md`, whose name and description the model is told, and which it reads when a task calls for one. */
import type { ResourceDiagnostic, ResourceOrigin, ResourcePlaces } from "./resources.ts";

export interface Skill {
  name: string;
  description: string;
  /** The `SKILL.md`, absolute. */
  filePath: string;
  /** Its folder: relative paths in the text start here. */
  baseDir: string;
  origin: ResourceOrigin;
  /** Only for `/skill:name`: the model is not told of it. */
  disableModelInvocation: boolean;
  /** The instructions, without the front matter. */
  text: string;
}

/** All skills of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadSkills(
  _places: ResourcePlaces,
): Promise<{ skills: Skill[]; diagnostics: ResourceDiagnostic[] }> {
  throw new Error("not yet");
}

/** The section of the system prompt that lists them; undefined if there is nothing to list. */
export function skillsPrompt(_skills: readonly Skill[]): string | undefined {
  throw new Error("not yet");
}

/** What `/skill:name args` stands for. Undefined for any other text, and for a name that no skill has. */
export function expandSkill(_text: string, _skills: readonly Skill[]): string | undefined {
  throw new Error("not yet");
}
