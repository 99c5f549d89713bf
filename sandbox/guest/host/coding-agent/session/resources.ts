import { getAgentDir } from "../config.ts";
import { loadProjectContextFiles } from "./project.ts";
import { loadSkills } from "./skills.ts";

interface Options {
  cwd?: string;
  agentDir?: string;
  systemPrompt?: string;
  appendSystemPrompt?: string | string[];
}

/** The skills and instructions of the extension's reach. It loads no extensions, prompts and themes: those are the host's. */
export class DefaultResourceLoader {
  readonly #options: Options;
  #skills: ReturnType<typeof loadSkills> = { skills: [], diagnostics: [] };
  #files: ReturnType<typeof loadProjectContextFiles> = [];

  constructor(options: Options = {}) {
    this.#options = options;
  }

  async reload(): Promise<void> {
    const { cwd = ".", agentDir = getAgentDir() } = this.#options;
    this.#skills = loadSkills({ cwd, agentDir });
    this.#files = loadProjectContextFiles({ cwd, agentDir });
  }
  getSkills() {
    return this.#skills;
  }
  getAgentsFiles() {
    return { agentsFiles: this.#files };
  }
  getExtensions() {
    return { extensions: [], errors: [] };
  }
  getPrompts() {
    return { prompts: [], diagnostics: [] };
  }
  getThemes() {
    return { themes: [], diagnostics: [] };
  }
  getSystemPrompt(): string | undefined {
    return this.#options.systemPrompt;
  }
  getAppendSystemPrompt(): string[] {
    return [this.#options.appendSystemPrompt ?? []].flat();
  }
  extendResources(): void {}
}
