/**
 * What a longer answer to a question at the point of use is about: the declared permission that covers the request, so that who declares
 * `git status` is not granted all of `git`. The user sees both, the request and that. Only what he looks at: a declared value that is
 * more dangerous than the request itself (`*`, the whole home folder) is no such answer.
 */
import { isAbsolute, resolve } from "node:path";
import { isInside } from "../../src/base/files.ts";
import type { Folders } from "../broker/broker.ts";
import { isLoopback } from "./addresses.ts";
import { dangerOf } from "./danger.ts";
import { permissionFor } from "./match.ts";
import { expandPath } from "./match-path.ts";
import { FLAG_KINDS, type Permission, type Permissions } from "./permissions.ts";
import type { Request } from "./request.ts";
import { coversValue, matchesHost, parseCommand, parseHost } from "./values.ts";

/** `permissionFor` this request, or the narrowest declared permission that covers it. Nothing is looked up: links are not followed. */
export function answerFor(request: Request, declared: Permissions, folders: Folders): Permission {
  const exact = permissionFor(request);
  const { kind } = exact;
  if (FLAG_KINDS.has(kind)) return exact;
  const values = (declared[kind] ?? []).filter((value) => {
    const danger = dangerOf({ kind, value });
    const isMore = danger !== undefined && danger !== dangerOf(exact);
    return value !== "*" && !isMore && covers(value, request, folders);
  });
  const narrowest = values.find(
    (value) => !values.some((other) => other !== value && coversValue(kind, value, other)),
  );
  return narrowest === undefined ? exact : { kind, value: narrowest };
}

/**
 * The same for the error that the extension gets. By the path as it wrote it: whether a declared folder is named must not tell where
 * a link leads.
 */
export function hintFor(request: Request, declared: Permissions, folders: Folders): Permission {
  if ((request.kind !== "read" && request.kind !== "write") || request.written === undefined) {
    return answerFor(request, declared, folders);
  }
  const asWritten: Request = { kind: request.kind, path: resolve(folders.cwd, request.written) };
  const found = answerFor(asWritten, declared, folders);
  return found.value === asWritten.path ? { kind: request.kind, value: request.written } : found;
}

function covers(value: string, request: Request, folders: Folders): boolean {
  switch (request.kind) {
    case "read":
    case "write":
      // The path is canonical: one that is inside got there by no link.
      return isInside(request.path, expandPath(value, folders));
    case "net": {
      const { host, port } = parseHost(value);
      return (port === undefined || port === request.port) && matchesHost(host, request.host);
    }
    case "net-address": {
      const { host, port } = parseHost(value);
      const isNamed = host === request.address || (host === "localhost" && isLoopback(request.address));
      return (port === undefined || port === request.port) && isNamed;
    }
    case "run": {
      const [name = "", ...args] = parseCommand(value);
      // Where a relative one leads to is not the same tomorrow.
      if (/[/\\]/.test(name) && !isAbsolute(name)) return false;
      return name === request.name && args.every((word, index) => word === request.args[index]);
    }
    default: {
      const { kind, value: wanted } = permissionFor(request);
      return coversValue(kind, value, wanted);
    }
  }
}
