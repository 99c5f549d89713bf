/** Requests in words: for the audit, for questions, and for the error that an extension gets. */
import type { Permission } from "./permissions.ts";
import type { Request } from "./request.ts";
import { formatHost } from "./values.ts";

/** What a request is about: the path, host, program or name, and nothing else of it. */
export function requestText(request: Request): string {
  switch (request.kind) {
    case "read":
    case "write":
    case "run":
      return request.path;
    case "net":
      return formatHost(request);
    case "net-address":
      return request.host === request.address
        ? formatHost(request)
        : `${formatHost({ host: request.address, port: request.port })} (${request.host})`;
    case "env":
    case "tools":
      return request.name;
    case "sys":
      return request.what;
    case "session":
      return request.access;
    case "model":
    case "provider":
    case "wasm":
      return "";
  }
}

/** What an extension may not, as a verb. `written` is what it knows itself; a canonical path would tell where links lead. */
function verbText(request: Request): string {
  switch (request.kind) {
    case "read":
    case "write":
      return `${request.kind} ${request.written ?? request.path}`;
    case "net":
      return `connect to ${formatHost(request)}`;
    case "net-address":
      return `connect to ${request.host}, which is not a public address`;
    case "run":
      return `run ${request.name}`;
    case "env":
      return `read the environment variable ${request.name}`;
    case "sys":
      return `ask for ${request.what}`;
    case "session":
      return `${request.access} the session`;
    case "tools":
      return `change or replace the tool ${request.name}`;
    case "model":
      return "call the model";
    case "provider":
      return "register a model provider";
    case "wasm":
      return "use WebAssembly";
  }
}

/** Kinds with a flag of the run command of their own. */
const FLAGS: ReadonlySet<string> = new Set(["read", "write", "net", "run", "env"]);

/** The option of `xdev ext grant` for a permission. */
export function grantOption({ kind, value }: Permission): string {
  return value === "*" && !["read", "write", "net", "run", "env", "sys", "session", "tools"].includes(kind)
    ? `--${kind}`
    : `--${kind}=${optionValue({ kind, value })}`;
}

/** A value as one writes it in a shell. */
function optionValue({ kind, value }: Permission): string {
  const isPath = kind === "read" || kind === "write";
  return shellQuote(isPath ? value.replace(/^\$HOME(?=\/)/, "~") : value);
}

/** The error for a denied request, with the permission that would allow it (`hintFor`): how it reads, and its details. */
export function refusalText(
  request: Request,
  by: string,
  extension: string,
  grantName: string,
  permission: Permission,
): { message: string; details: Record<string, unknown> } {
  const option = grantOption(permission);
  const name = shellQuote(grantName);
  const flag = FLAGS.has(permission.kind)
    ? `--allow-${permission.kind}=${optionValue(permission)}`
    : `--allow-all=${name}`;
  const allow = `to allow it: ${flag} for one run, or xdev ext grant ${name} ${option}`;
  const reasons: Record<string, string> = {
    floor: "no permission can allow this",
    never: `its user has denied it for good; xdev ext revoke ${name} ${option} lifts that`,
    user: "its user said no",
    flood: "it was denied too often to be asked about",
  };
  return {
    message: `EACCES: permission denied: extension ${extension} may not ${verbText(request)} (${reasons[by] ?? allow})`,
    details: { permission: permission.kind },
  };
}

/** A word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_./:@%+,=*~-]+$/.test(word) && !word.includes("*")
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
