/** Skills, prompt templates and stream rules of a session: found at its start, with what extensions add. */
import { dirname, resolve } from "node:path";
import type { ExtensionCommand } from "../../extensions/manager.ts";
import type { SessionCommand } from "../agent-session-types.ts";
import { parseResult } from "../extension-results.ts";
import type { PromptTemplate } from "../prompt-templates.ts";
import type { ExtraPath, ResourceDiagnostic, ResourceOrigin } from "../resources.ts";
import type { Skill } from "../skills.ts";
import type { RuleWatch, StreamRule } from "../stream-rules.ts";
import type { Core } from "./core.ts";

export interface Resources {
  skills: Skill[];
  templates: PromptTemplate[];
  rules: StreamRule[];
  /** Made for the branch that is open, and forgotten with it. */
  watch: RuleWatch | undefined;
}

/** Finds them and says in the system prompt which skills there are. What can't be used is told once. */
export async function loadResources(core: Core, reason: "startup" | "reload"): Promise<void> {
  const { placesAtReload } = core.options;
  const places = (reason === "reload" ? placesAtReload : undefined) ?? core.options.places;
  if (!places) return;
  const extra = [...(places.extra ?? []), ...(await discover(core, reason))];
  const [{ loadSkills, skillsPrompt }, { loadPromptTemplates }, { loadStreamRules }] = await Promise.all([
    import("../skills.ts"),
    import("../prompt-templates.ts"),
    import("../stream-rules.ts"),
  ]);
  const all = { ...places, extra };
  const [skills, templates, rules] = await Promise.all([
    loadSkills(all),
    loadPromptTemplates(all),
    loadStreamRules(all),
  ]);
  tellProblems(core, [...skills.diagnostics, ...templates.diagnostics, ...rules.diagnostics]);
  core.resources = {
    skills: skills.skills,
    templates: templates.templates,
    rules: rules.rules,
    watch: undefined,
  };
  const listed = skillsPrompt(skills.skills);
  const { systemPrompt } = core.options;
  core.systemPrompt = listed === undefined ? systemPrompt : `${systemPrompt}\n\n${listed}`;
}

/** `resources_discover`: the paths of all modules, each with the folder that it may name files of. */
async function discover(core: Core, reason: "startup" | "reload"): Promise<ExtraPath[]> {
  const found: ExtraPath[] = [];
  await core.events?.ask(
    "resources_discover",
    () => ({ cwd: core.options.cwd, reason }),
    (result, { name, path }) => {
      const { skillPaths, promptPaths } = parseResult("resources_discover", result);
      const root = dirname(path);
      const add = (kind: ExtraPath["kind"], paths: readonly string[] | undefined | null) => {
        for (const one of paths ?? []) found.push({ kind, path: resolve(root, one), root, extension: name });
      };
      add("skill", skillPaths);
      add("prompt", promptPaths);
      return undefined;
    },
  );
  return found;
}

function tellProblems(core: Core, diagnostics: readonly ResourceDiagnostic[]): void {
  for (const text of new Set(diagnostics.map(({ path, problem }) => `${path}: ${problem}`)))
    core.notice(text);
}

/** What a text that begins with a slash stands for, or the text. Throws for a template that would be too long. */
export async function expandResources(core: Core, text: string): Promise<string> {
  const { resources } = core;
  if (!resources || !text.startsWith("/")) return text;
  if (text.startsWith("/skill:")) {
    const { expandSkill } = await import("../skills.ts");
    return expandSkill(text, resources.skills) ?? text;
  }
  const { expandTemplate } = await import("../prompt-templates.ts");
  return expandTemplate(text, resources.templates) ?? text;
}

/** What `prompt` understands behind a slash; commands of extensions come first, as they do there. */
export function listCommands(core: Core): SessionCommand[] {
  const { manager } = core.options;
  const { skills = [], templates = [] } = core.resources ?? {};
  const scope = (origin: ResourceOrigin) => (origin === "extension" ? ("temporary" as const) : origin);
  // Of two modules' commands with one name the last is meant (`findCommand`).
  const brought = new Map<string, ExtensionCommand>();
  for (const one of manager?.commands() ?? []) {
    const name = one.extension.kind === "worker" ? one.command : one.word.slice(1);
    brought.delete(name);
    brought.set(name, one);
  }
  return [
    ...[...brought].map(
      ([name, { extension, description, completes }]): SessionCommand => ({
        name,
        ...(description === "" ? {} : { description }),
        ...(completes ? { completes } : {}),
        source: "extension",
        sourceInfo: { path: extension.path, source: "local", scope: "user", origin: "top-level" },
      }),
    ),
    ...templates.map(
      ({ name, description, argumentHint, filePath, origin }): SessionCommand => ({
        name,
        description,
        ...(argumentHint === undefined ? {} : { argumentHint }),
        source: "prompt",
        sourceInfo: { path: filePath, source: "local", scope: scope(origin), origin: "top-level" },
      }),
    ),
    ...skills.map(
      ({ name, description, filePath, origin }): SessionCommand => ({
        name: `skill:${name}`,
        description,
        source: "skill",
        sourceInfo: { path: filePath, source: "local", scope: scope(origin), origin: "top-level" },
      }),
    ),
  ];
}
