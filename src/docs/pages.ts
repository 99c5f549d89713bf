/** The pages of the manual, in the order in which `xdev docs` lists them: each is `src/docs/<name>.md`. */
export const PAGES = {
  start: "the first run: a model, a prompt, no network, where things are kept",
  cli: "every command and option, prompts that are commands, exit statuses",
  models: "models.yml, the built-in providers, local servers, replay files",
  prompts: "skills, prompt templates, rules for the model's stream, commands of your own with ! and $",
  sessions: "where conversations are kept, what the files hold, what is promised of them",
  rpc: "driving xdev from a program: commands, events and dialogs as lines of JSON",
  acp: "xdev in an editor that knows the Agent Client Protocol: Zed, Neovim, JetBrains",
  settings: "config.yml: limits of extensions, what follows their death, hooks",
  hooks: "shell commands that are asked about tool calls, and xdev trust",
  extensions: "how to write an extension: a guide, with an example for everything",
  api: "every method, member and event of the extension API",
  modules: "what an extension can import: packages of the host, its own, globals",
  providers: "models that an extension brings, logins included",
  testing: "xdev ext test: a script for an extension, played in the sandbox without a model",
  compatibility: "extensions of others that the tests run: what they need, and what is checked",
  node: "Node's modules in the sandbox: what is there, and what differs",
  protocol: "how to write an extension in any language: every frame, event and call",
  permissions: "what extensions may ask for, and how to grant it or take it back",
  sandbox: "what an extension can and can't do",
} as const;

export type PageName = keyof typeof PAGES;

export function isPage(name: string): name is PageName {
  return Object.hasOwn(PAGES, name);
}
