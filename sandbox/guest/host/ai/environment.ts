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
