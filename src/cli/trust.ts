/**
 * `xdev trust`, `xdev trust --list`, `xdev distrust`: the user looks at what a workspace's `.xdev` would do, and decides. What he
 * trusts is what he was shown: the digests are of the same read.
 */
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { errorText } from "../base/errors.ts";
import { canonicalPath, resolvePath } from "../base/files.ts";
import { setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { visible } from "../base/text.ts";
import { type Authority, type AuthorityFile, readAuthority } from "../config/authority.ts";
import { dataDirectory } from "../config/datadir.ts";
import { parseSettings } from "../config/settings.ts";
import { differences, readTrust, recordOf, writeTrust } from "../config/trust.ts";
import { findWorkspace, WORKSPACE_FOLDER } from "../config/workspace.ts";
import { hooksOfFiles } from "../hooks/definition.ts";
import { type HookEntry, isBroken } from "../hooks/hook.ts";
import { hooksOfSetting } from "../hooks/sources.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";
import { hookFiles, summary } from "./workspace.ts";

type TrustInvocation = Extract<Invocation, { command: "trust" | "trust-list" | "distrust" }>;

/** Gives the exit status: 1 if the user said no or the workspace can't be trusted, 2 if there was nobody to ask. */
export async function trust(invocation: TrustInvocation, interrupt: AbortSignal): Promise<number> {
  const { options } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  if (invocation.command === "trust-list") return list(dataDir, invocation.json);
  const base = resolvePath(options.cwd ?? ".", startFolder());
  const folder = resolvePath(invocation.folder ?? ".", base);
  if (invocation.command === "distrust") return distrust(folder, dataDir);
  return ask(folder, dataDir, invocation.yes, interrupt);
}

async function ask(cwd: string, dataDir: string, yes: boolean, interrupt: AbortSignal): Promise<number> {
  const { root, hasFolder } = await findWorkspace(cwd, dataDir);
  const folder = join(root, WORKSPACE_FOLDER);
  const authority: Authority = hasFolder ? await readAuthority(folder) : { files: [], problems: [] };
  if (!authority.files.some(({ kind }) => kind !== "other") && authority.problems.length === 0) {
    say(
      `${shown(root)} has nothing to trust: no hooks, extensions, settings, skills, prompts, rules or programs in ${WORKSPACE_FOLDER}`,
    );
    return EXIT.done;
  }
  say(`In ${shown(folder)}:`);
  const hooks = await hooksByPath(authority, folder);
  for (const file of authority.files) for (const line of describe(file, hooks.get(file.path))) say(line);
  if (authority.problems.length > 0) {
    for (const problem of authority.problems) say(`  problem: ${shown(problem)}`);
    complain("it can't be trusted as long as that is so");
    return EXIT.failed;
  }
  const record = (await readTrust(dataDir)).get(root);
  const differing = record ? differences(record, authority) : [];
  if (record && differing.length === 0) {
    say("You trust exactly this already.");
    return EXIT.done;
  }
  if (record) say(`Since you trusted it:\n${differing.map((line) => `  ${shown(line)}`).join("\n")}`);
  if (!yes) {
    if (!process.stdin.isTTY) {
      complain("not trusted: there is no terminal to ask on\n  to trust all of this: xdev trust --yes");
      return EXIT.usage;
    }
    if (
      !(await confirm(
        `Trust ${summary(authority)}? They run with your rights, or tell the model what to do. [y/N] `,
        interrupt,
      ))
    ) {
      complain("not trusted");
      return EXIT.failed;
    }
  }
  await writeTrust(dataDir, root, recordOf(authority, new Date()));
  say(`Trusted: ${shown(root)}, until one of these files changes.`);
  return EXIT.done;
}

async function confirm(question: string, interrupt: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // The end of input is no answer, and readline would wait for one for ever.
    const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    const answer = await Promise.race([terminal.question(question, { signal: interrupt }), ended]);
    return /^\s*y(?:es)?\s*$/i.test(answer);
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}

/** The hooks that each file brings. */
async function hooksByPath(authority: Authority, folder: string): Promise<Map<string, HookEntry[]>> {
  const found = new Map<string, HookEntry[]>();
  for (const [{ name }, entry] of await hooksOfFiles(hookFiles(authority, folder), {
    cwd: folder,
    notice() {},
  })) {
    found.set(`hooks/${name}`, [entry]);
  }
  const settings = authority.files.find(({ path }) => path === "config.yml");
  if (!settings) return found;
  try {
    const { hooks } = await parseSettings(settings.text ?? "[", join(folder, settings.path));
    found.set(settings.path, hooksOfSetting(hooks, settings.path, folder));
  } catch (error) {
    found.set(settings.path, [{ name: settings.path, problem: errorText(error), denies: true }]);
  }
  return found;
}

/** One file on one line, and below it every command that it brings. */
function describe(file: AuthorityFile, hooks: readonly HookEntry[] = []): string[] {
  const mark = file.executable ? " (executable)" : "";
  const first = `  ${file.kind.padEnd(9)}  ${file.digest.slice(0, 12)}  ${shown(file.path)}${mark}`;
  return [first, ...hooks.flatMap(describeHook)];
}

function describeHook(entry: HookEntry): string[] {
  if (isBroken(entry)) return [`      can't be used: ${shown(entry.problem)}`];
  // Each line is marked, so that a command of several can't pass for another entry of the list.
  const lines = visible(entry.command).trimEnd().split("\n");
  return [`      on ${entry.event} runs`, ...lines.map((line) => `      | ${line}`)];
}

async function distrust(folder: string, dataDir: string): Promise<number> {
  const records = await readTrust(dataDir);
  // By its own path, too: what was trusted may be gone, or have moved into a repository since.
  const { root } = await findWorkspace(folder, dataDir);
  const wanted = [root, await canonicalPath(folder)].find((path) => records.has(path));
  if (wanted === undefined) {
    say(`${shown(root)} was not trusted`);
    return EXIT.done;
  }
  await writeTrust(dataDir, wanted, undefined);
  say(`Not trusted any more: ${shown(wanted)}`);
  return EXIT.done;
}

async function list(dataDir: string, json: boolean): Promise<number> {
  const records = await readTrust(dataDir);
  const listed = await Promise.all(
    [...records].map(async ([path, record]) => {
      const authority = await readAuthority(join(path, WORKSPACE_FOLDER));
      const changes = [...authority.problems, ...differences(record, authority)];
      return {
        path,
        trustedAt: record.trustedAt,
        current: changes.length === 0,
        changes,
        files: record.files,
      };
    }),
  );
  if (json) say(JSON.stringify(listed, null, 2));
  else if (listed.length === 0) say("no workspace is trusted");
  else
    for (const { path, trustedAt, current } of listed) {
      say(
        `${shown(path)}  ${trustedAt.slice(0, 10)}${current ? "" : "  changed since: not trusted as it is now"}`,
      );
    }
  return EXIT.done;
}

function say(text: string): void {
  print("stdout", `${text}\n`);
}

function complain(text: string): void {
  print("stderr", `xdev: ${text}\n`);
}

/** Names are the repository's: nothing for the terminal in them, and no second line. */
function shown(text: string): string {
  return visible(text).replace(/[\n\t]+/g, " ");
}
