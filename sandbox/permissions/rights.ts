/**
 * Decides on every request of one extension, in this order: what no grant can lift (floor.ts), what the command line allows for this
 * run, what the user denied for good, what he granted, and where nothing of this says anything, the user himself.
 */
import { isInside } from "../../src/base/files.ts";
import { CallError, type Folders, type Rights } from "../broker/broker.ts";
import { type Asker, type Denials, MAX_DENIALS } from "./asker.ts";
import type { Audit, Decision } from "./audit.ts";
import { floorVerdict, guardedRoots, linksTo } from "./floor.ts";
import {
  isLasting,
  isWellFormed,
  leadsToNamedAddress,
  type MatchContext,
  Matcher,
  permissionFor,
} from "./match.ts";
import { includes, NONE, type Permission, type Permissions, permissionsOf, union } from "./permissions.ts";
import { answerFor, hintFor } from "./point-of-use.ts";
import type { Request } from "./request.ts";
import { refusalText, requestText } from "./request-text.ts";

export interface RightsOptions {
  /** The extension's name. */
  extension: string;
  /** What `xdev ext grant` takes for it: its name, or its path. */
  grantName?: string;
  folders: Folders;
  /** The data dir as the user names it: links may lead to it. */
  dataDir?: string;
  /** The user's PATH. */
  searchPath: string | undefined;
  granted: Permissions;
  /** For good. */
  denied: Permissions;
  /** What it declares: a longer answer to a question is about that, where it covers the request. */
  declared?: Permissions;
  /** Granted for this session. */
  session?: Permissions;
  /** Granted by the command line. */
  flags?: Permissions;
  /** Everything is granted by the command line. */
  allowAll?: boolean;
  asker?: Asker | undefined;
  audit?: Audit | undefined;
  /** Keeps an answer for later sessions; a failure is the caller's to tell. */
  remember?: (answer: "granted" | "denied", permission: Permission) => Promise<void>;
  /** Told when the extension begins and ends to wait for the user. */
  onWaiting?: (isWaiting: boolean) => void;
  /** Those of the package that the extension is a part of. */
  denials?: Denials | undefined;
  /** Ends all questions: they are denied. */
  signal?: AbortSignal;
}

/** Questions of one extension that wait at the same time. */
const MAX_WAITING = 16;

/** How long a name that was allowed once may lead to its addresses, in ms. */
const ONCE_MS = 5000;

type By = Decision["by"];
interface Verdict {
  allowed: boolean;
  by: By;
}

const FREE: Verdict = { allowed: true, by: "free" };
const ALLOWED: Verdict = { allowed: true, by: "user" };
const DENIED: Verdict = { allowed: false, by: "user" };

/** Everything but what the floor keeps. Shells are not in `*`, and addresses that are not public neither. */
const EVERYTHING: Permissions = {
  read: ["*"],
  write: ["*"],
  net: ["*"],
  run: ["*"],
  env: ["*"],
  sys: ["*"],
  model: ["*"],
  session: ["*"],
  provider: ["*"],
  tools: ["*"],
  wasm: ["*"],
};

/** The rights of one extension. Looks up what the permissions mean now. */
export async function createRights(options: RightsOptions): Promise<Rights> {
  const { folders, searchPath } = options;
  const context: MatchContext = { folders, searchPath };
  const flags = options.allowAll ? union(options.flags ?? NONE, EVERYTHING) : (options.flags ?? NONE);
  const granted = union(options.granted, options.session ?? NONE);
  const [guarded, byFlag, byGrant, byDenial] = await Promise.all([
    Promise.all([guardedRoots(folders.dataDir), linksTo(options.dataDir ?? folders.dataDir)]),
    Matcher.ofGrants(flags, context, granted.write),
    Matcher.ofGrants(granted, context, flags.write),
    Matcher.ofDenials(options.denied, context),
  ]);
  return new ExtensionRights(options, guarded.flat(), byFlag, byGrant, byDenial);
}

class ExtensionRights implements Rights {
  readonly #options: RightsOptions;
  readonly #guarded: readonly string[];
  readonly #byFlag: Matcher;
  readonly #byGrant: Matcher;
  readonly #byDenial: Matcher;
  /** Those that wait for their turn or for an answer. */
  readonly #questions = new Map<string, Promise<Verdict>>();
  #last: Promise<unknown> = Promise.resolve();
  /** `host:port` of what was allowed once by the first of a connection's questions, and until when the others are allowed by it. */
  readonly #allowedOnce = new Map<string, number>();
  readonly #signal: AbortSignal;
  readonly #denials: Denials;
  /** Denied for good, by now. */
  #denied: Permissions;

  constructor(
    options: RightsOptions,
    guarded: readonly string[],
    byFlag: Matcher,
    byGrant: Matcher,
    byDenial: Matcher,
  ) {
    this.#options = options;
    this.#guarded = guarded;
    this.#byFlag = byFlag;
    this.#byGrant = byGrant;
    this.#byDenial = byDenial;
    this.#signal = options.signal ?? new AbortController().signal;
    this.#denials = options.denials ?? { count: 0 };
    this.#denied = options.denied;
  }

  has(request: Request): boolean {
    return this.#known(request)?.allowed === true;
  }

  keepsBelow(path: string): boolean {
    return this.#guarded.some((root) => isInside(root, path)) || this.#byDenial.hasPathBelow(path);
  }

  async demand(request: Request): Promise<void> {
    const known = this.#known(request) ?? this.#allowedBefore(request);
    const { allowed, by } = known ?? (await this.#ask(request));
    const noted = this.#options.audit?.record({
      kind: request.kind,
      what: requestText(request),
      allowed,
      by,
    });
    if (allowed) return;
    // Only a flood of denials has to wait here, so that each of them is written.
    await noted;
    throw this.#refusal(request, by);
  }

  /** The decision without a question; undefined if it takes one. */
  #known(request: Request): Verdict | undefined {
    if (!isWellFormed(request)) return { allowed: false, by: "floor" };
    if (request.kind === "read" || request.kind === "write") {
      const verdict = floorVerdict(request.path, request.kind, this.#options.folders, this.#guarded);
      if (verdict === "granted") return FREE;
      if (verdict === "refused") return { allowed: false, by: "floor" };
    }
    if (request.kind === "session" && request.access === "read") return FREE;
    if (this.#byFlag.covers(request)) return { allowed: true, by: "flag" };
    if (this.#byDenial.covers(request)) return { allowed: false, by: "never" };
    if (this.#byGrant.covers(request)) return { allowed: true, by: "grant" };
    return undefined;
  }

  #allowedBefore(request: Request): Verdict | undefined {
    if (request.kind !== "net-address") return undefined;
    const until = this.#allowedOnce.get(`${request.host}:${request.port}`) ?? 0;
    return performance.now() < until ? { allowed: true, by: "once" } : undefined;
  }

  #ask(request: Request): Verdict | Promise<Verdict> {
    const { asker } = this.#options;
    if (!asker) return { allowed: false, by: "nobody" };
    if (this.#denials.count >= MAX_DENIALS) return { allowed: false, by: "flood" };
    const permission = answerFor(request, this.#options.declared ?? NONE, this.#options.folders);
    // By what is asked for, not by what the answer may be about: `once` is for that alone.
    const exact = permissionFor(request);
    const key = JSON.stringify(request.kind === "run" ? [exact, request.path, request.args] : exact);
    const same = this.#questions.get(key);
    if (same) return same;
    if (this.#questions.size >= MAX_WAITING) return { allowed: false, by: "flood" };
    const question = this.#inTurn(() => this.#put(asker, request, permission)).finally(() => {
      this.#questions.delete(key);
      if (this.#questions.size === 0) this.#options.onWaiting?.(false);
    });
    this.#questions.set(key, question);
    if (this.#questions.size === 1) this.#options.onWaiting?.(true);
    return question;
  }

  /** One question after the other: the answer to one may decide the next. */
  #inTurn(work: () => Promise<Verdict>): Promise<Verdict> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Never rejects. */
  async #put(asker: Asker, request: Request, permission: Permission): Promise<Verdict> {
    const known = this.#known(request);
    if (known) return known;
    if (this.#denials.count >= MAX_DENIALS) return { allowed: false, by: "flood" };
    const { extension, folders, remember } = this.#options;
    const signal = this.#signal;
    const lasting = isLasting(request) && remember !== undefined;
    const answer = signal.aborted
      ? "deny"
      : await asker
          .ask({ extension, request, permission, lasting, signal, denials: this.#denials })
          .catch(() => "deny");
    switch (answer) {
      case "once":
        if (request.kind === "net" && leadsToNamedAddress(request.host)) {
          this.#allowedOnce.set(`${request.host}:${request.port}`, performance.now() + ONCE_MS);
        }
        return ALLOWED;
      case "always":
        this.#byGrant.add(request, permission, folders);
        if (lasting) await remember("granted", permission).catch(() => {});
        return ALLOWED;
      case "session":
        this.#byGrant.add(request, permission, folders);
        return ALLOWED;
      case "never":
        this.#denials.count++;
        this.#byDenial.add(request, permission, folders);
        this.#denied = union(this.#denied, permissionsOf([permission]));
        await remember?.("denied", permission).catch(() => {});
        return DENIED;
      default:
        this.#denials.count++;
        return DENIED;
    }
  }

  #refusal(request: Request, by: By): CallError {
    const { extension, grantName = extension, declared = NONE, folders } = this.#options;
    const found = hintFor(request, declared, folders);
    // What lifts a denial is what was denied.
    const permission =
      by !== "never" || includes(this.#denied, found) ? found : hintFor(request, NONE, folders);
    const { message, details } = refusalText(request, by, extension, grantName, permission);
    return new CallError("EACCES", message, details);
  }
}
