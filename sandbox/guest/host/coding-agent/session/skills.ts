/** Skills: folders with a `SKILL.md`, read with the extension's own rights. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { skillsPrompt } from "../../../../../src/agent/skills.ts";
import { CONFIG_DIR_NAME } from "../config.ts";
import { parseFrontmatter } from "../front_matter.ts";
import { createSyntheticSourceInfo } from "../source_info.ts";

export interface Skill {
  name: string;
  description: string;
  filePath: string;
  baseDir: string;
  sourceInfo: ReturnType<typeof createSyntheticSourceInfo>;
  disableModelInvocation: boolean;
}
interface Found {
  skills: Skill[];
  diagnostics: { type: string; message: string; path: string }[];
}

/** The skill of a folder, else those of its `.md` files and its folders. */
export function loadSkillsFromDir({ dir, source }: { dir: string; source: string }): Found {
  return look(resolve(dir), source, true);
}

/** Those of the paths that are named, and, with `includeDefaults`, of the agent's folder and the project's. */
export function loadSkills(options: {
  cwd?: string;
  agentDir?: string;
  skillPaths?: readonly string[];
  includeDefaults?: boolean;
}): Found {
  const { cwd = "/", agentDir, skillPaths = [], includeDefaults = true } = options;
  const places = [
    ...(includeDefaults && agentDir ? [{ path: join(agentDir, "skills"), source: "user" }] : []),
    ...(includeDefaults ? [{ path: join(cwd, CONFIG_DIR_NAME, "skills"), source: "project" }] : []),
    ...skillPaths.map((path) => ({ path: resolve(cwd, path), source: "path" })),
  ];
  const all: Found = { skills: [], diagnostics: [] };
  for (const { path, source } of places) {
    if (!isThere(path)) continue;
    const found = path.endsWith(".md") ? readSkill(path, source) : look(path, source, true);
    all.diagnostics.push(...found.diagnostics);
    for (const skill of found.skills) {
      if (!all.skills.some(({ name }) => name === skill.name)) all.skills.push(skill);
      else all.diagnostics.push({ type: "collision", message: `another skill is named ${skill.name}`, path });
    }
  }
  return all;
}

function isThere(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
}

function look(folder: string, source: string, isRoot: boolean): Found {
  const all: Found = { skills: [], diagnostics: [] };
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    return all;
  }
  if (names.includes("SKILL.md")) return readSkill(join(folder, "SKILL.md"), source);
  for (const name of names) {
    if (name.startsWith(".") || name === "node_modules") continue;
    const path = join(folder, name);
    let found: Found | undefined;
    try {
      if (statSync(path).isDirectory()) found = look(path, source, false);
      else if (isRoot && extname(name) === ".md") found = readSkill(path, source);
    } catch {
      continue;
    }
    if (!found) continue;
    all.skills.push(...found.skills);
    all.diagnostics.push(...found.diagnostics);
  }
  return all;
}

function readSkill(path: string, source: string): Found {
  const problem = (message: string): Found => ({
    skills: [],
    diagnostics: [{ type: "warning", message, path }],
  });
  try {
    const { frontmatter } = parseFrontmatter(readFileSync(path, "utf8"));
    const baseDir = dirname(path);
    const { name, description } = frontmatter;
    if (typeof description !== "string" || description.trim() === "")
      return problem("description is required");
    const skill: Skill = {
      name: typeof name === "string" ? name : basename(basename(path) === "SKILL.md" ? baseDir : path, ".md"),
      description,
      filePath: path,
      baseDir,
      sourceInfo: createSyntheticSourceInfo(path, { source, baseDir }),
      disableModelInvocation: frontmatter["disable-model-invocation"] === true,
    };
    return { skills: [skill], diagnostics: [] };
  } catch (error) {
    return problem(error instanceof Error ? error.message : String(error));
  }
}

/** The section of a system prompt that lists them; empty if there is nothing to list. */
export function formatSkillsForPrompt(skills: readonly Skill[]): string {
  const text = skillsPrompt(skills as unknown as Parameters<typeof skillsPrompt>[0]);
  return text === undefined ? "" : `\n\n${text}`;
}

/** Takes a message apart that `/skill:name` made; null for any other. */
export function parseSkillBlock(
  text: string,
): { name: string; location: string; content: string; userMessage: string | undefined } | null {
  const found = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(
    text,
  );
  if (!found) return null;
  const [, name = "", location = "", content = "", rest] = found;
  return { name, location, content, userMessage: rest?.trim() || undefined };
}
