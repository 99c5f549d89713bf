/** What pi-ai does and a sandbox does not: logins, keys and images are the host's. */

const ANTHROPIC_VARIABLES =
  "API_KEY AUTH_TOKEN FEDERATION_RULE_ID IDENTITY_TOKEN_FILE OAUTH_TOKEN ORGANIZATION_ID SERVICE_ACCOUNT_ID WORKSPACE_ID";
const LOGINS =
  "getOAuthApiKey loginAnthropic loginGitHubCopilot loginOpenAICodex refreshAnthropicToken refreshGitHubCopilotToken " +
  "refreshOAuthToken refreshOpenAICodexToken";

const nothing = (): void => {};
const none = (): undefined => undefined;
const empty = (): never[] => [];

const refusal = (name: string) => async (): Promise<never> => {
  throw new Error(
    `${name}() is not possible in the sandbox: xdev keeps the keys and does the logins. Name a model, and its requests are sent with them`,
  );
};

export const all: Record<string, unknown> = {
  ...Object.fromEntries(
    ANTHROPIC_VARIABLES.split(" ").map((name) => [`ANTHROPIC_${name}_ENV`, `ANTHROPIC_${name}`]),
  ),
  ...Object.fromEntries(LOGINS.split(" ").map((name) => [name, refusal(name)])),
  findEnvKeys: none,
  getOAuthProvider: none,
  getOAuthProviders: empty,
  getOAuthProviderInfoList: empty,
  registerOAuthProvider: nothing,
  resetOAuthProviders: nothing,
  unregisterOAuthProvider: nothing,
  getImageModel: none,
  getImageModels: empty,
  getImageProviders: empty,
  getImagesApiProvider: none,
  registerImagesApiProvider: nothing,
  registerBuiltInImagesApiProviders: nothing,
  generateImages: refusal("generateImages"),
  generateImagesOpenRouter: refusal("generateImagesOpenRouter"),
};
