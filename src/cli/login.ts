/** `xdev login` and `xdev logout`: the providers of extensions that one logs in to (`oauth` of `pi.registerProvider`). */
import { XdevError } from "../base/errors.ts";
import { setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { oneLine } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import type { LoginProvider } from "../extensions/providers.ts";
import { isBuiltin, keyVariables } from "../models/builtin.ts";
import { CredentialStore } from "../models/credentials.ts";
import type { Invocation } from "./args.ts";
import { loginDialog } from "./login-questions.ts";
import { EXIT } from "./process-guard.ts";
import { withProviders } from "./provider-extensions.ts";
import { terminalUser } from "./run-extensions.ts";

/** Gives the exit status. Throws `XdevError` `usage` for a provider that has no login, and `login-failed`. */
export async function login(
  { provider, options }: Extract<Invocation, { command: "login" }>,
  interrupt: AbortSignal,
): Promise<number> {
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const dialog = await loginDialog(interrupt);
  const user = () => terminalUser(interrupt);
  let loggingIn: LoginProvider | undefined;
  const loginQuestion: ProviderDialog = async (extension, asked) => {
    if (loggingIn?.extension !== extension) throw new Error("nobody is logging in with this extension");
    return dialog.question(asked, extension.name);
  };
  const host = { interrupt, user, loginQuestion };
  return withProviders(options, dataDir, host, async ({ desk }) => {
    const store = new CredentialStore(dataDir);
    const known = desk?.logins() ?? [];
    if (provider === undefined) {
      print("stdout", await listed(known, store));
      return EXIT.done;
    }
    loggingIn = known.find(({ name }) => name === provider);
    if (!loggingIn || !desk) throw noLogin(provider, known);
    // Whoever asks now is no part of this program.
    print(
      "stderr",
      `extension ${loggingIn.extension.name} (${oneLine(loggingIn.extension.path)}) logs in to ${loggingIn.name}: what you enter goes to it\n`,
    );
    try {
      await desk.login(loggingIn, interrupt);
    } finally {
      dialog.close();
    }
    const { name, label, extension } = loggingIn;
    print(
      "stdout",
      `logged in to ${name} (${oneLine(label)}) with extension ${extension.name}; kept in ${store.file}\n`,
    );
    return EXIT.done;
  });
}

type ProviderDialog = NonNullable<Parameters<typeof withProviders>[2]["loginQuestion"]>;

/** Gives the exit status: 1 if nobody was logged in. */
export async function logout({
  provider,
  options,
}: Extract<Invocation, { command: "logout" }>): Promise<number> {
  setVerbose(options.verbose === true);
  const store = new CredentialStore(dataDirectory(options.dataDir, process.env, startFolder()));
  if (provider === undefined) {
    const kept = await store.list();
    const lines = kept.map(
      (one) => `${one.provider}  by extension ${one.extension} (${oneLine(one.path)})\n`,
    );
    print("stdout", lines.join("") || "nobody is logged in anywhere\n");
    return EXIT.done;
  }
  const removed = await store.remove(provider);
  print(
    "stdout",
    removed > 0 ? `logged out of ${oneLine(provider)}\n` : `nobody is logged in to ${oneLine(provider)}\n`,
  );
  return removed > 0 ? EXIT.done : EXIT.failed;
}

async function listed(known: readonly LoginProvider[], store: CredentialStore): Promise<string> {
  if (known.length === 0) return "no extension brings a provider to log in to\n";
  const kept = await store.list();
  return known
    .map(({ name, label, extension }) => {
      const isIn = kept.some((one) => one.provider === name && one.path === extension.path);
      return `${name}  ${oneLine(label)}  extension ${extension.name}  ${isIn ? "logged in" : "not logged in"}\n`;
    })
    .join("");
}

function noLogin(provider: string, known: readonly LoginProvider[]): XdevError {
  const name = oneLine(provider);
  if (isBuiltin(provider)) {
    return new XdevError("usage", `${name} takes a key, and no login`, {
      hint: `set ${keyVariables(provider).join(" or ")}, or write it into models.yml: xdev docs models`,
    });
  }
  const others = known.map((one) => one.name).join(", ");
  return new XdevError("usage", `no extension that is loaded brings a login to ${name}`, {
    hint: others
      ? `there is one to: ${others}`
      : "`xdev ext list` says which are loaded; name another with -e PATH",
  });
}
