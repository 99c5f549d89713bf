/**
 * What a sandboxed extension can't have of the agent's package: a second agent, its modes and its package manager. It is there all
 * the same, so that an extension loads, and says what to do instead when it is used.
 */

const AGENT =
  "a sandboxed extension can't run an agent of its own in its process: start one as a program, xdev -p, with the permission run (see pi's example subagent), or ask a model with pi-ai and the permission model";
const SCREEN =
  "the agent's own screens are not an extension's to show: ctx.ui.select and ctx.ui.custom ask the user";
const WINDOWS =
  "PowerShell is for Windows, where extensions of this kind are not run yet: use createBashTool";
const LOADER =
  "extensions are loaded by the host: name them in config.yml, or put them into its extensions folder";
const MODELS = "models are the host's: ctx.modelRegistry finds them, and --model or pi.setModel chooses one";

const REASONS: readonly (readonly [string, string])[] = [
  [
    AGENT,
    "AgentSession AgentSessionRuntime createAgentSession createAgentSessionFromServices createAgentSessionRuntime " +
      "createAgentSessionServices main parseArgs InteractiveMode RpcClient runPrintMode runRpcMode",
  ],
  [
    SCREEN,
    "ArminComponent FooterComponent LoginDialogComponent ModelSelectorComponent OAuthSelectorComponent SessionSelectorComponent " +
      "SettingsSelectorComponent TreeSelectorComponent",
  ],
  [
    LOADER,
    "DefaultPackageManager ExtensionRunner createCodemodeExtension createExtensionRuntime createMcpExtension " +
      "createToolSearchExtension discoverAndLoadExtensions wrapRegisteredTool wrapRegisteredTools",
  ],
  [MODELS, "ModelRuntime resolveCliModel resolveModelScopeWithDiagnostics"],
  [
    WINDOWS,
    "createLocalPowerShellOperations createPowerShellTool createPowerShellToolDefinition getPowerShellConfig",
  ],
];

/** Each of them by its name: a function and class that throws, with its static members. */
export function refusedExports(): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [reason, names] of REASONS) {
    for (const name of names.split(" ")) all[name] = refusal(name, reason);
  }
  return all;
}

function refusal(name: string, reason: string): unknown {
  const fail = (what: string) => (): never => {
    throw new Error(`${what} is not possible here: ${reason}`);
  };
  function target(): void {}
  Object.defineProperty(target, "name", { value: name });
  return new Proxy(target, {
    apply: fail(name),
    construct: fail(`new ${name}`),
    get: (own, key) =>
      typeof key === "symbol" || key in own || key === "then" || key === "toJSON"
        ? Reflect.get(own, key)
        : fail(`${name}.${key}`),
  });
}

/** The error of a login that could not be kept. None is thrown here; it is for `instanceof`. */
export class CredentialSynchronizationError extends Error {
  override readonly name = "CredentialSynchronizationError";
}

export async function copyToClipboard(): Promise<never> {
  throw new Error(
    "copyToClipboard is not possible here: the clipboard is the user's; show the text, or put it into the editor with ctx.ui.setEditorText",
  );
}
