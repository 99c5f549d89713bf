/** In the place of pi-ai's look at the environment and the files of a user: it sees the variables that were granted, and no files. */
export function getProviderEnvValue(name: string, given?: Record<string, string>): string | undefined {
  return given?.[name] ?? globalThis.process.env[name];
}

export function defaultProviderAuthContext() {
  return {
    async env(name: string): Promise<string | undefined> {
      const value = getProviderEnvValue(name);
      return value === undefined || value.trim() === "" ? undefined : value;
    },
    fileExists: async (): Promise<boolean> => false,
  };
}

/** No key of the user's is in it. */
export const getEnvApiKey = (): undefined => undefined;

export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";
