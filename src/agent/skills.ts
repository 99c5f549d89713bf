/** Skills: folders with a `SKILL.md`, whose name and description the model is told, and which it reads when a task calls for one. */
import { dirname } from "node:path";
import { errorText } from "../base/errors.ts";
import { ellipsis } from "../base/text.ts";
import { lineOf, splitFrontMatter } from "./front-matter.ts";
import {
  diagnostic,
  findResources,
  nameOfPlace,
  type ResourceFile,
  withoutDuplicates,
} from "./resource-files.ts";
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

/** Of the Agent Skills specification, in characters. */
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
/** The list of them in the system prompt, in characters. */
const MAX_LIST = 32 * 1024;

/** All skills of the places. Never throws: what can't be used is told in `diagnostics`. */
export async function loadSkills(
  places: ResourcePlaces,
): Promise<{ skills: Skill[]; diagnostics: ResourceDiagnostic[] }> {
  const { files, diagnostics } = await findResources("skill", places);
  const skills: Skill[] = [];
  for (const file of files) {
    const tell = (problem: string) => diagnostics.push(diagnostic(file.path, problem));
    try {
      const skill = await parseSkill(file, tell);
      if (skill) skills.push(skill);
    } catch (error) {
      tell(`it is no skill: ${errorText(error)}`);
    }
  }
  return { skills: withoutDuplicates(skills, diagnostics), diagnostics };
}

async function parseSkill(file: ResourceFile, tell: (problem: string) => void): Promise<Skill | undefined> {
  const { data, body } = await splitFrontMatter(file.text);
  const description = lineOf(data, "description");
  if (description === undefined) {
    tell("it is no skill: its front matter has no description, by which the model would choose it");
    return undefined;
  }
  if (description.length > MAX_DESCRIPTION)
    tell(`its description is cut: it is longer than ${MAX_DESCRIPTION} characters`);
  const name = nameOf(file.path, lineOf(data, "name"), tell);
  if (name === undefined) return undefined;
  return {
    name,
    description: ellipsis(description, MAX_DESCRIPTION),
    filePath: file.path,
    baseDir: dirname(file.path),
    origin: file.origin,
    disableModelInvocation: data["disable-model-invocation"] === true,
    text: body,
  };
}

function nameOf(
  path: string,
  given: string | undefined,
  tell: (problem: string) => void,
): string | undefined {
  if (given !== undefined && isSkillName(given)) return given;
  const place = nameOfPlace(path);
  const rule = `a name has small letters, digits and single hyphens in between, at most ${MAX_NAME}`;
  if (!isSkillName(place)) {
    tell(`it is no skill: ${ellipsis(given ?? place, 80)} is no name; ${rule}`);
    return undefined;
  }
  if (given !== undefined)
    tell(`it is named ${place}, like its folder: ${ellipsis(given, 80)} is no name; ${rule}`);
  return place;
}

function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name);
}

/**
 * The section of the system prompt that lists them; undefined if there is nothing to list. Without a tool that reads
 * files it is of no use.
 */
export function skillsPrompt(skills: readonly Skill[]): string | undefined {
  const listed = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  if (listed.length === 0) return undefined;
  const lines: string[] = [];
  let room = MAX_LIST;
  for (const { name, description, filePath } of listed) {
    const line = `<skill><name>${name}</name><description>${escaped(description)}</description><location>${escaped(filePath)}</location></skill>`;
    room -= line.length;
    if (room < 0) break;
    lines.push(line);
  }
  const rest = listed.length - lines.length;
  if (rest > 0) lines.push(`<!-- ${rest} more are not listed -->`);
  return `Skills are instructions for special tasks. If the task matches a description, read the file at its location before you begin; relative paths in it start at its folder.
<available_skills>
${lines.join("\n")}
</available_skills>`;
}

/** What `/skill:name args` stands for. Undefined for any other text, and for a name that no skill has. */
export function expandSkill(text: string, skills: readonly Skill[]): string | undefined {
  const command = /^\/skill:(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const skill = command && skills.find(({ name }) => name === command[1]);
  if (!skill) return undefined;
  const { name, filePath, baseDir, text: instructions } = skill;
  const head = `<skill name="${name}" location="${escaped(filePath)}">\nReferences are relative to ${baseDir}.`;
  const request = command[2] ? `\n\n${command[2]}` : "";
  return `${head}\n\n${instructions}\n</skill>${request}`;
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (char) => names[char]!);
}
