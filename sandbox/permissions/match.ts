/** A set of permissions made ready to be asked: patterns looked up, so that each question is a comparison. */
import { isAbsolute } from "node:path";
import { isInside } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";
import { canonicalHost, isAddress, isLoopback, isPublicAddress } from "./addresses.ts";
import { coversPath, expandPath, type Root, resolveDenied, resolveRoots } from "./match-path.ts";
import {
  type CommandPattern,
  coversCommand,
  deniesCommand,
  type ProgramPlace,
  resolveCommands,
} from "./match-run.ts";
import { KINDS, type Kind, type Permission, type Permissions } from "./permissions.ts";
import type { Request } from "./request.ts";
import {
  coversValue,
  formatCommand,
  formatHost,
  type HostPattern,
  matchesHost,
  parseCommand,
  parseHost,
  SESSION_VALUES,
  SYS_VALUES,
} from "./values.ts";

export interface MatchContext {
  folders: Folders;
  searchPath: string | undefined;
}

export class Matcher {
  readonly #denies: boolean;
  readonly #roots: Record<"read" | "write", Root[]> = { read: [], write: [] };
  readonly #hosts: HostPattern[] = [];
  readonly #commands: CommandPattern[] = [];
  readonly #values = new Map<Kind, string[]>();

  private constructor(denies: boolean) {
    this.#denies = denies;
  }

  /** For permissions that allow. `writable`: what else the extension may write, by other sets. */
  static async ofGrants(
    permissions: Permissions,
    context: MatchContext,
    writable: readonly string[] = [],
  ): Promise<Matcher> {
    const matcher = new Matcher(false);
    const { folders } = context;
    const written = [...(permissions.write ?? []), ...writable];
    for (const kind of ["read", "write"] as const) {
      const patterns = permissions[kind];
      if (patterns) matcher.#roots[kind] = await resolveRoots(patterns, written, folders);
    }
    await matcher.#addRest(permissions, context);
    return matcher;
  }

  /** For permissions that deny: when in doubt, it covers. */
  static async ofDenials(permissions: Permissions, context: MatchContext): Promise<Matcher> {
    const matcher = new Matcher(true);
    for (const kind of ["read", "write"] as const) {
      const patterns = permissions[kind];
      if (patterns) matcher.#roots[kind] = await resolveDenied(patterns, context.folders);
    }
    await matcher.#addRest(permissions, context);
    return matcher;
  }

  async #addRest(permissions: Permissions, { folders, searchPath }: MatchContext): Promise<void> {
    const place: ProgramPlace = { folders, searchPath };
    this.#hosts.push(...(permissions.net ?? []).map(parseHost));
    if (permissions.run) this.#commands.push(...(await resolveCommands(permissions.run, place)));
    for (const kind of KINDS) {
      const values = permissions[kind];
      if (values && !["read", "write", "net", "run"].includes(kind)) this.#values.set(kind, [...values]);
    }
  }

  /** Adds what a user's answer to a request is about (`answerFor`): nothing is looked up for it. */
  add(request: Request, { kind, value }: Permission, folders: Folders): void {
    switch (request.kind) {
      case "read":
      case "write":
        this.#roots[request.kind].push(expandPath(value, folders));
        break;
      case "net":
      case "net-address":
        this.#hosts.push(parseHost(value));
        break;
      case "run": {
        const args = parseCommand(value).slice(1);
        this.#commands.push({ name: request.name, path: request.path, args });
        break;
      }
      default:
        this.#values.set(kind, [...(this.#values.get(kind) ?? []), value]);
    }
  }

  covers(request: Request): boolean {
    switch (request.kind) {
      case "read":
      case "write":
        return coversPath(this.#roots[request.kind], request.path);
      case "net":
        return this.#hosts.some(
          ({ host, port }) =>
            isPort(port, request.port) && (matchesHost(host, request.host) || (this.#denies && host === "*")),
        );
      case "net-address":
        return this.#hosts.some(
          ({ host, port }) => isPort(port, request.port) && this.#namesAddress(host, request.address),
        );
      case "run":
        return this.#denies ? deniesCommand(this.#commands, request) : coversCommand(this.#commands, request);
      default: {
        const { kind, value } = permissionFor(request);
        return (this.#values.get(kind) ?? []).some((own) => coversValue(kind, own, value));
      }
    }
  }

  /** Whether a path of these permissions lies below `folder`, or is it. */
  hasPathBelow(folder: string): boolean {
    return [...this.#roots.read, ...this.#roots.write].some((root) => root !== "*" && isInside(root, folder));
  }

  #namesAddress(host: string, address: string): boolean {
    if (host === address) return true;
    if (this.#denies && host === "*") return true;
    return host === "localhost" && isLoopback(address);
  }
}

function isPort(pattern: number | undefined, port: number): boolean {
  return pattern === undefined || pattern === port;
}

/** What the user grants or denies if he answers a question about this request for longer than once. */
export function permissionFor(request: Request): Permission {
  switch (request.kind) {
    case "read":
    case "write":
      return { kind: request.kind, value: request.path };
    case "net":
      return { kind: "net", value: formatHost(request) };
    case "net-address":
      return { kind: "net", value: formatHost({ host: request.address, port: request.port }) };
    case "run":
      return { kind: "run", value: formatCommand([isPlainName(request.name) ? request.name : request.path]) };
    case "env":
      return { kind: "env", value: request.name };
    case "sys":
      return { kind: "sys", value: request.what };
    case "session":
      return { kind: "session", value: request.access };
    case "tools":
      return { kind: "tools", value: request.name };
    case "model":
    case "provider":
    case "wasm":
      return { kind: request.kind, value: "*" };
  }
}

/**
 * Whether `permissionFor` means the same tomorrow. A link of another name than its program's, called by its path, might lead
 * elsewhere by then.
 */
export function isLasting(request: Request): boolean {
  if (request.kind !== "run" || isPlainName(request.name)) return true;
  return request.name.split(/[/\\]/).pop() === request.path.split(/[/\\]/).pop();
}

/** Whether a request is one that can be granted at all: no value in it reads as a pattern, hosts are in their one form. */
export function isWellFormed(request: Request): boolean {
  switch (request.kind) {
    case "read":
    case "write":
      return isAbsolute(request.path) && !request.path.includes("\0");
    case "net":
      return isPortNumber(request.port) && canonicalHost(request.host) === request.host;
    case "net-address":
      return (
        isPortNumber(request.port) &&
        isAddress(request.address) &&
        canonicalHost(request.address) === request.address
      );
    case "run":
      return (
        request.name !== "" && isAbsolute(request.path) && !`${request.name}${request.path}`.includes("\0")
      );
    case "env":
      return /^[A-Za-z_][A-Za-z0-9_]*$/.test(request.name);
    case "tools":
      return /^[A-Za-z0-9_-]{1,64}$/.test(request.name);
    case "sys":
      return (SYS_VALUES as readonly string[]).includes(request.what);
    case "session":
      return (SESSION_VALUES as readonly string[]).includes(request.access);
    case "model":
    case "provider":
    case "wasm":
      return true;
  }
}

const isPlainName = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/.test(name);
const isPortNumber = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** Whether a request for this host is one for an address that has to be named, too. */
export function leadsToNamedAddress(host: string): boolean {
  return host === "localhost" || (isAddress(host) && !isPublicAddress(host));
}
