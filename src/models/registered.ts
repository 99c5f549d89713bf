/**
 * Providers that extensions register (action `register_provider`). An extension brings its own address and key: nothing of
 * the user's environment is put into either, and no name that means something already can be taken.
 */
import { errorText, XdevError } from "../base/errors.ts";
import { isBuiltin } from "./builtin.ts";
import { LOCAL_SERVERS } from "./local.ts";
import { urlProblem } from "./net.ts";
import { type ProviderConfig, providerSchema } from "./schema.ts";

export interface RegisteredProvider {
  name: string;
  config: ProviderConfig;
}

/**
 * Checks the payload of an action: `{name, baseUrl, models, api?, apiKey?, headers?}`, as in models.yml. Throws `XdevError`
 * with code `bad-provider` and what is wrong.
 */
export function parseRegistered(payload: unknown): RegisteredProvider {
  const wrong = (what: string) => new XdevError("bad-provider", what);
  if (typeof payload !== "object" || payload === null)
    throw wrong("the provider is not described by an object");
  const { name, ...rest } = payload as Record<string, unknown>;
  if (typeof name !== "string" || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw wrong("the provider's name must be 1 to 64 letters, digits, dots, dashes or underscores");
  }
  if (isBuiltin(name) || LOCAL_SERVERS.some((server) => server.name === name)) {
    throw wrong(`the name ${name} is taken by a provider that xdev knows`);
  }
  // `${NAME}` would send a variable of the user's to wherever the extension says.
  if (JSON.stringify(rest).includes("${")) throw wrong("variables are for models.yml, not for extensions");
  let config: ProviderConfig;
  try {
    config = providerSchema.parse(rest, { jitless: true });
  } catch (error) {
    throw wrong(`provider ${name}: ${errorText(error).replace(/\s+/g, " ").slice(0, 200)}`);
  }
  if (!config.baseUrl || !config.models) throw wrong(`provider ${name} needs baseUrl and models`);
  const problem = urlProblem(config.baseUrl);
  if (problem) throw wrong(`provider ${name}: baseUrl: ${problem}`);
  return { name, config };
}
