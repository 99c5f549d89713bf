/** `xdev ext grant`, `revoke` and `permissions`: what the user lets an extension do, outside of a session. */

import { isAbsolute } from "node:path";
import type { Folders } from "../../sandbox/broker/broker.ts";
import { freshBundle, keptBundle } from "../../sandbox/bundle/cached.ts";
import type { LoadAnswer, LoadQuestion } from "../../sandbox/permissions/asker.ts";
import { dangerOf } from "../../sandbox/permissions/danger.ts";
import { type Declaration, needingGrant, reasonKey } from "../../sandbox/permissions/declaration.ts";
import { declaredPermissions } from "../../sandbox/permissions/declared.ts";
import { loadQuestionLines, permissionText } from "../../sandbox/permissions/describe.ts";
import { exact, quoted } from "../../sandbox/permissions/display.ts";
import { canonicalPaths, parsePermissionOptions } from "../../sandbox/permissions/flags.ts";
import { floorVerdict, guardedRoots } from "../../sandbox/permissions/floor.ts";
import { sessionFolders } from "../../sandbox/permissions/folders.ts";
import {
  afterAnswer,
  changeGrants,
  type GrantRecord,
  grantedBy,
  isBlank,
  judge,
  NO_RECORD,
  readGrants,
} from "../../sandbox/permissions/grants.ts";
import {
  difference,
  includes,
  intersection,
  isEmpty,
  listOf,
  NONE,
  type Permission,
  type Permissions,
  permissionsOf,
  union,
} from "../../sandbox/permissions/permissions.ts";
import { dialogUser } from "../../sandbox/permissions/prompt.ts";
import { grantOption, shellQuote } from "../../sandbox/permissions/request-text.ts";
import { codeDigest, requestOf } from "../../sandbox/permissions/session.ts";
import { allSpellings, unlike } from "../../sandbox/permissions/spellings.ts";
import { isShell, parseCommand } from "../../sandbox/permissions/values.ts";
import { openCache } from "../base/cache.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { escapeControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import { terminalDialog } from "./ask.ts";
import type { PermissionInvocation } from "./command-args.ts";
import { findExtension } from "./one-extension.ts";
import { EXIT } from "./process-guard.ts";

type Invocation = Exclude<PermissionInvocation, { command: "ext-audit" }>;

/** The extension that a command about permissions is about. Throws `XdevError` for one that has none. */
export async function moduleNamed(word: string, dataDir: string): Promise<ExtensionSource> {
  const source = await findExtension(word, dataDir);
  if (source.kind === "worker") return source;
  throw new XdevError("usage", `${source.name} is an executable: permissions are for modules`, {
    hint: "an executable runs with the rights of your user; see xdev docs sandbox",
  });
}

/** An extension that permissions.json knows by this name or path, whether it is still there or not. */
async function recordNamed(word: string, dataDir: string): Promise<ExtensionSource | undefined> {
  const records = await readGrants(dataDir);
  const path = resolvePath(word, startFolder());
  const found = [...records].filter(([key, { name }]) => key === path || name === word);
  const [one] = found;
  return one && found.length === 1 ? { name: one[1].name, path: one[0], kind: "worker" } : undefined;
}

/** What paths of permissions mean for a session that begins here. */
function foldersOf({ name, path }: ExtensionSource, dataDir: string): Promise<Folders> {
  return sessionFolders({ name, path, dataDir, cwd: startFolder() });
}

/** Gives the exit status. */
export async function extPermissions(invocation: Invocation, interrupt: AbortSignal): Promise<number> {
  const { options } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const source = await moduleNamed(invocation.extension, dataDir).catch(async (error: unknown) => {
    // What is gone can still be revoked.
    const left =
      invocation.command === "ext-revoke" ? await recordNamed(invocation.extension, dataDir) : undefined;
    if (left) return left;
    throw error;
  });
  switch (invocation.command) {
    case "ext-permissions":
      return show(source, dataDir, invocation.json);
    case "ext-revoke": {
      const given = parsePermissionOptions(invocation.permissions, startFolder(), (kind) => `--${kind}`);
      // As it is written, and as it was kept.
      return revoke(source, dataDir, invocation.all ? undefined : union(given, await canonicalPaths(given)));
    }
    case "ext-grant": {
      const given = parsePermissionOptions(invocation.permissions, startFolder(), (kind) => `--${kind}`);
      if (isEmpty(given)) return grantRequested(source, dataDir, invocation.yes, interrupt);
      return grant(source, dataDir, await canonicalPaths(given), invocation.extension);
    }
  }
}

async function grant(
  source: ExtensionSource,
  dataDir: string,
  given: Permissions,
  word: string,
): Promise<number> {
  const { name, path } = source;
  const folders = await foldersOf(source, dataDir);
  const spellings = await allSpellings(given, folders);
  await checkGrant(spellings, folders);
  let denied: Permissions = NONE;
  await changeGrants(dataDir, path, (record) => {
    denied = difference(unlike(record.denied, spellings, folders), given);
    return { ...record, name, added: union(record.added, given), denied };
  });
  for (const one of listOf(given)) say(`${name} may ${permissionText(one)}`);
  const inTheWay = listOf(denied).filter((one) => !isEmpty(intersection(spellings, permissionsOf([one]))));
  for (const one of inTheWay) {
    log.warn(
      `still denied for good: ${permissionText(one)}; to lift that: xdev ext revoke ${shellQuote(word)} ${grantOption(one)}`,
    );
  }
  return inTheWay.length > 0 ? EXIT.failed : EXIT.done;
}

/** Throws `XdevError` for what no grant opens, and warns of what is more, or nothing, than it may seem. */
async function checkGrant(given: Permissions, folders: Folders): Promise<void> {
  const guarded = await guardedRoots(folders.dataDir);
  const tools = given.tools ? (await import("../agent/tools/index.ts")).BUILTIN_TOOL_NAMES : [];
  for (const one of listOf(given)) {
    const { kind, value } = one;
    if ((kind === "read" || kind === "write") && isAbsolute(value)) {
      if (floorVerdict(value, kind, folders, guarded) !== "refused") continue;
      throw new XdevError("usage", `no permission can allow an extension to ${permissionText(one)}`, {
        hint: "the data dir, /proc, /sys and /dev stay shut; see xdev docs permissions",
      });
    }
    if (kind === "run" && (value === "*" || isShell(parseCommand(value)[0]!))) {
      log.warn(`${permissionText(one)} is ${dangerOf(one)}`);
    }
    if (kind === "tools" && value !== "*" && !(tools as readonly string[]).includes(value)) {
      log.warn(`there is no built-in tool ${value}; those are ${tools.join(", ")}`);
    }
  }
}

/** Puts the question that a session would put, and keeps the answer. */
async function grantRequested(
  source: ExtensionSource,
  dataDir: string,
  yes: boolean,
  interrupt: AbortSignal,
): Promise<number> {
  const { name, path } = source;
  const record = (await readGrants(dataDir)).get(path) ?? NO_RECORD;
  const { declaration, digest } = await requestedBy(source, dataDir);
  const requested = needingGrant(declaration.permissions);
  const kept = judge(record, digest, requested).record;
  const toAsk = difference(requested, grantedBy(kept));
  if (isEmpty(toAsk)) {
    say(isEmpty(requested) ? `${name} asks for nothing` : `${name} has all that it asks for`);
    return EXIT.done;
  }
  const question: LoadQuestion = {
    extension: name,
    path,
    declaration,
    toAsk,
    had: grantedBy(kept),
    isChanged: false,
    signal: interrupt,
  };
  let answer: LoadAnswer | undefined;
  if (yes) {
    for (const line of loadQuestionLines(question)) say(line);
    answer = { granted: toAsk, lasts: "always" };
  } else {
    const dialog = terminalDialog(interrupt);
    if (!dialog) {
      throw new XdevError("usage", "nothing is granted: there is no terminal to ask on", {
        hint: `to grant all that it asks for: xdev ext grant ${shellQuote(name)} --yes; to see it: xdev ext permissions ${shellQuote(name)}`,
      });
    }
    answer = await dialogUser(dialog).askAtLoad(question);
  }
  const granted = answer?.lasts === "always" ? answer.granted : NONE;
  if (answer?.lasts === "always") {
    const folders = await foldersOf(source, dataDir);
    const spellings = await allSpellings(granted, folders);
    await changeGrants(dataDir, path, (latest) => {
      const changed = afterAnswer(judge(latest, digest, requested).record, {
        name,
        digest,
        requested,
        granted,
      });
      return { ...changed, denied: unlike(changed.denied, spellings, folders) };
    });
  } else if (answer) {
    log.warn("this command is no session: nothing is granted");
  }
  for (const one of listOf(granted)) say(`${name} may ${permissionText(one)}`);
  return isEmpty(granted) ? EXIT.failed : EXIT.done;
}

async function revoke(
  source: ExtensionSource,
  dataDir: string,
  given: Permissions | undefined,
): Promise<number> {
  const { name, path } = source;
  const folders = await foldersOf(source, dataDir);
  const spellings = await allSpellings(given ?? NONE, folders);
  let before: GrantRecord = NO_RECORD;
  let after: GrantRecord | undefined;
  await changeGrants(dataDir, path, (record) => {
    before = record;
    if (given) {
      const rest = (set: Permissions) => difference(unlike(set, spellings, folders), given);
      const changed = {
        ...record,
        granted: rest(record.granted),
        added: rest(record.added),
        denied: rest(record.denied),
      };
      after = isBlank(changed) ? undefined : changed;
    }
    return after;
  });
  const had = union(grantedBy(before), before.denied);
  const left = after ? union(grantedBy(after), after.denied) : NONE;
  const gone = listOf(difference(had, left));
  for (const one of gone) {
    say(
      includes(before.denied, one)
        ? `no longer denied for good: ${permissionText(one)}`
        : `${name} may no longer ${permissionText(one)}`,
    );
  }
  const wider = listOf(left).filter(
    (one) => given && listOf(given).some((want) => includes(permissionsOf([one]), want)),
  );
  for (const one of wider) log.warn(`it still has ${permissionText(one)}, which is more: revoke that`);
  if (gone.length === 0 && wider.length === 0) say(`${name} had none of that`);
  return wider.length > 0 ? EXIT.failed : EXIT.done;
}

/** What `permissions --json` prints for each permission. */
interface Listed {
  kind: string;
  value: string;
  state: "granted" | "denied" | "free" | "not granted";
  /** `declared`, `inferred` from its code, or `user`: it was granted or denied without having been asked for. */
  from: string;
  dangerous?: string;
  reason?: string;
}

async function show(source: ExtensionSource, dataDir: string, json: boolean): Promise<number> {
  const { name, path } = source;
  const record = (await readGrants(dataDir)).get(path) ?? NO_RECORD;
  const { declaration, digest } = await requestedBy(source, dataDir);
  const requested = declaration.permissions;
  const needing = needingGrant(requested);
  const granted = grantedBy(judge(record, digest, needing).record);
  const folders = await foldersOf(source, dataDir);
  // What is asked for and denied by another spelling stands there once, as denied.
  const asked = union(requested, granted);
  const denials = await allSpellings(record.denied, folders);
  const likeDenied = permissionsOf(
    listOf(asked).filter((one) => isEmpty(unlike(permissionsOf([one]), denials, folders))),
  );
  const deniedBesides = unlike(record.denied, await allSpellings(likeDenied, folders), folders);
  const stateOf = (one: Permission): Listed["state"] => {
    if (!includes(needing, one) && includes(requested, one)) return "free";
    if (includes(record.denied, one) || includes(likeDenied, one)) return "denied";
    return includes(granted, one) ? "granted" : "not granted";
  };
  const list = listOf(union(asked, deniedBesides)).map((one): Listed => {
    const danger = dangerOf(one);
    const reason = declaration.reasons.get(reasonKey(one));
    return {
      ...one,
      state: stateOf(one),
      from: listOf(requested).some((own) => own.kind === one.kind && own.value === one.value)
        ? declaration.source
        : "user",
      ...(danger === undefined ? {} : { dangerous: danger }),
      ...(reason === undefined ? {} : { reason }),
    };
  });
  if (json) {
    const report = { name, path, source: declaration.source, permissions: list };
    say(escapeControls(JSON.stringify(report, null, 2)));
    return EXIT.done;
  }
  const how = {
    declared: "declares in package.json what it asks for",
    inferred: "declares nothing; this is inferred from its code",
    none: "asks for nothing",
  };
  say(`${name} ${how[declaration.source]}`);
  say(`  (${exact(path, 200)})`);
  for (const { kind, value, state, from, dangerous, reason } of list) {
    const permission = { kind, value } as Permission;
    const marks = [
      ...(from === "user" ? ["by you"] : []),
      ...(dangerous === undefined ? [] : [`dangerous: ${dangerous}`]),
    ];
    const behind = marks.length > 0 ? ` (${marks.join("; ")})` : "";
    say(
      `  ${state.padEnd(11)}  ${permissionText(permission)}${behind}${reason === undefined ? "" : ` ${quoted(reason, 80)}`}`,
    );
  }
  return EXIT.done;
}

/** What an extension asks for, and the digest that its grants are bound to. */
export async function requestedBy(
  { path }: Pick<ExtensionSource, "path">,
  dataDir: string,
): Promise<{ declaration: Declaration; digest: string }> {
  const cache = openCache(dataDir);
  const [bundle, declared] = await Promise.all([
    keptBundle(path, cache).then((kept) => kept ?? freshBundle(path, cache)),
    declaredPermissions(path),
  ]).catch((error: unknown) => {
    throw error instanceof XdevError ? error : new XdevError("bundle-failed", errorText(error));
  });
  const about = { bundleSource: bundle.source, imports: bundle.imports, declared };
  return { declaration: await requestOf(about), digest: codeDigest(about) };
}

function say(text: string): void {
  print("stdout", `${text}\n`);
}
