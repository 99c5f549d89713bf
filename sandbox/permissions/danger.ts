/** Which permissions the user should look at twice, and why. For display only: nothing is allowed or denied by this. */

import { isLoopback } from "./addresses.ts";
import type { Permission, Permissions } from "./permissions.ts";
import { isShell, parseCommand, parseHost } from "./values.ts";

const SECRET_WORDS =
  /KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|DSN|CONNECTION|DATABASE_URL|WEBHOOK|_PAT$|_PAT_|^PAT_|^PGPASS|CERT/i;
/** Words that hold one of the above and are none. */
const NO_SECRETS = /^(?:PWD|OLDPWD|SSH_AUTH_SOCK|XDG_SESSION_\w+|DESKTOP_SESSION|KEYBOARD\w*)$/;

/** Whether the name of an environment variable (or its beginning with `*`) looks as if its value were a secret. */
export function looksSecret(name: string): boolean {
  return name.endsWith("*") || (SECRET_WORDS.test(name) && !NO_SECRETS.test(name));
}

/** Places in the home folder that hold keys, or text that is run later. */
const SECRET_PLACES =
  /(?:^|\/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.password-store|\.config|\.local|\.mozilla|\.bash\w*|\.zsh\w*|\.profile|Library)(?:\/|$)/;

/** Where machines of clouds get their own credentials. */
const METADATA =
  /^(?:169\.254\.\d+\.\d+|168\.63\.129\.16|100\.100\.100\.200|192\.0\.0\.192|fd00:ec2::\w+|fd20:ce::254|metadata(?:\.google\.internal)?|instance-data(?:\.ec2\.internal)?)$/;

/** Why a permission is dangerous, as words that follow it; undefined if it is not. */
export function dangerOf({ kind, value }: Permission): string | undefined {
  switch (kind) {
    case "run":
      if (value === "*") return "every program, with all your rights";
      return isShell(parseCommand(value)[0]!)
        ? "a shell: anything, with all your rights"
        : "with all your rights";
    case "write":
      if (/^\$(?:CWD|DATA)(?:\/|$)/.test(value)) return undefined;
      return value === "*" ? "every file of yours" : "outside the folder you work in";
    case "read":
      if (value === "*" || value === "/" || value === "$HOME") return "your keys and passwords among them";
      return SECRET_PLACES.test(value) ? "may hold keys and passwords" : undefined;
    case "net": {
      const { host } = parseHost(value);
      if (host === "*") return "any host";
      if (host === "localhost" || isLoopback(host)) return "what runs on this machine";
      if (METADATA.test(host)) return "a cloud's metadata: it may hold keys";
      return /^\*\.[^.]+$/.test(host) ? "any host under it" : undefined;
    }
    case "env":
      if (value === "*") return "all of them, keys and passwords included";
      return looksSecret(value) ? "looks like a secret" : undefined;
    case "provider":
      return "reads the whole conversation";
    case "tools":
      return value === "bash" || value === "*"
        ? "with all your rights: it can change the commands that run"
        : "with all your rights: it can change what the tool is told to do";
    default:
      return undefined;
  }
}

/** What permissions mean together, as sentences. `names` says which are new and which it has had before. */
export function combinations(all: Permissions): string[] {
  const has = (kind: keyof Permissions) => (all[kind]?.length ?? 0) > 0;
  const changesCommands = all.tools?.some((name) => name === "bash" || name === "*") === true;
  const ways = (["net", "run", "provider", "tools"] as const).filter((kind) =>
    kind === "tools" ? changesCommands : has(kind),
  );
  const sentences: string[] = [];
  if (ways.length > 0) {
    const what = [
      "your conversation",
      ...(has("read") ? ["the files that it may read"] : []),
      ...(has("env") ? ["the variables"] : []),
    ];
    const list = what.length === 1 ? what[0] : `${what.slice(0, -1).join(", ")} and ${what.at(-1)}`;
    sentences.push(`With ${ways.join(", ")} it can send ${list} there.`);
  }
  if (has("run")) sentences.push("A program that it runs is not confined: it can do whatever you can.");
  return sentences;
}
