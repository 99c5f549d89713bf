/**
 * `xdev ext test PATH`: loads an extension in the real sandbox, with a data dir, a home and a working folder that are made for it
 * and removed, plays a script against it, and says what went as expected.
 */
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { readAudit } from "../../sandbox/permissions/audit.ts";
import { permissionText } from "../../sandbox/permissions/describe.ts";
import type { AllowFlags, RawPermissions } from "../../sandbox/permissions/flags.ts";
import { storageName } from "../../sandbox/permissions/folders.ts";
import { listOf } from "../../sandbox/permissions/permissions.ts";
import { shellQuote } from "../../sandbox/permissions/request-text.ts";
import { errorText, XdevError } from "../base/errors.ts";
import { readSmallFile, resolvePath } from "../base/files.ts";
import { redact, setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { escapeControls, oneLine, visible } from "../base/text.ts";
import { useFolders } from "../base/user-folders.ts";
import { parseFile } from "../config/parse.ts";
import type { ExtensionSource } from "../extensions/discovery.ts";
import { beyondSandbox } from "../testing/consent.ts";
import { ScriptDriver, type StepReport } from "../testing/driver.ts";
import { type TestScript, testScriptSchema } from "../testing/script.ts";
import { standIns } from "../testing/stand-ins.ts";
import { type Invocation, runOptions } from "./args.ts";
import type { TestAllow } from "./author-args.ts";
import { type Inspection, inspect, page } from "./ext.ts";
import { requestedBy } from "./ext-permissions.ts";
import { extensionAt } from "./one-extension.ts";
import { EXIT } from "./process-guard.ts";
import { run } from "./run.ts";

type TestInvocation = Extract<Invocation, { command: "ext-test" }>;

/** What `--json` prints. */
export interface TestReport {
  passed: boolean;
  extension: Inspection;
  permissions: {
    /** `declared` in package.json, `inferred` from its code, or `none`. Executables have no permissions. */
    source: string;
    asked: string[];
    /** What it did that takes a permission. */
    used: string[];
    /** What it was denied: it needs a grant for it. */
    denied: string[];
  };
  /** What xdev told the user while it went on. */
  diagnostics: string[];
  /** The path of the script, if there was one. */
  script?: string;
  steps: StepReport[];
  /** Steps that were not played since one before them did not end. */
  notPlayed: number;
  /** The end of its log. */
  log: string[];
}

const SCRIPT_BYTES = 4 * 1024 * 1024;
const LOG_LINES = 20;

/** Gives the exit status: 1 if the extension did not load or a step failed. */
export async function extTest(invocation: TestInvocation, interrupt: AbortSignal): Promise<number> {
  setVerbose(invocation.verbose);
  const source = await extensionAt(invocation.path);
  const parsed = await readScript(invocation.script, source);
  const isNamed = invocation.script !== undefined;
  const given = invocation.allow;
  const outside = isNamed
    ? []
    : beyondSandbox(given === undefined ? parsed.script : { ...parsed.script, allow: undefined });
  if (outside.length > 0) {
    throw new XdevError("bad-test-script", `${parsed.file} ${outside.join(", and ")}`, {
      hint: `if you have read it and want that: xdev ext test ${shellQuote(invocation.path)} --script ${shellQuote(parsed.file!)}`,
    });
  }
  const grantsDeclared = isNamed || given === "declared" ? "all" : "inside";
  const report = await testExtension(source, { ...parsed, allow: given, grantsDeclared }, interrupt);
  if (invocation.json) print("stdout", `${escapeControls(JSON.stringify(report, null, 2))}\n`);
  else print("stdout", redact(textOf(report)));
  return report.passed ? EXIT.done : EXIT.failed;
}

interface ParsedScript {
  script: TestScript;
  file?: string;
  lineOf: (path: readonly PropertyKey[]) => number;
}

/** The script that is named, or the one that lies where a script is looked for; without one, nothing is played. */
async function readScript(named: string | undefined, source: ExtensionSource): Promise<ParsedScript> {
  const file = named === undefined ? await scriptOf(source) : resolvePath(named, startFolder());
  return file === undefined ? { script: { steps: [] }, lineOf: () => 1 } : parseScript(file);
}

async function parseScript(file: string): Promise<ParsedScript> {
  const text = await readSmallFile(file, SCRIPT_BYTES).catch((error: unknown) => {
    throw new XdevError("bad-test-script", `can't read the script ${file}: ${errorText(error)}`);
  });
  const { value, lineOf } = await parseFile(text.toString("utf8"), testScriptSchema, file, "bad-test-script");
  return { script: value, file, lineOf };
}

/** `NAME.test.yml` beside a file, `test.yml` in a package's folder. */
async function scriptOf({ path, folder }: ExtensionSource): Promise<string | undefined> {
  const own = join(dirname(path), `${basename(path).replace(/\.[^.]*$/, "")}.test.yml`);
  const places = [own, ...(folder === undefined ? [] : [join(folder, "test.yml")])];
  if (/^index\.\w+$/.test(basename(path))) places.push(join(dirname(path), "test.yml"));
  for (const place of places) {
    if (
      await stat(place).then(
        (found) => found.isFile(),
        () => false,
      )
    )
      return place;
  }
  return undefined;
}

/**
 * Loads, plays, and leaves nothing behind. `allow` goes before what the script allows. Throws what a session would that can't
 * begin at all.
 */
export async function testExtension(
  source: ExtensionSource,
  {
    script,
    file,
    lineOf,
    allow = script.allow,
    grantsDeclared,
  }: ParsedScript & { allow?: TestAllow | TestScript["allow"]; grantsDeclared: "all" | "inside" },
  interrupt: AbortSignal,
): Promise<TestReport> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "xdev-ext-test-")));
  const remove = () => rmSync(root, { recursive: true, force: true });
  process.on("exit", remove);
  const before = { ...process.env };
  try {
    const places = await makePlaces(root, script);
    const { dataDir, cwd } = places;
    // Before anything asks for them: nothing of the user's own is in reach by these names.
    useFolders(places);
    Object.assign(process.env, { HOME: places.home, TMPDIR: places.tmp, XDEV_DATA_DIR: dataDir });
    const driver = new ScriptDriver({
      script,
      lineOf,
      cwd,
      interrupt,
      grantsDeclared: allow === "declared" ? grantsDeclared : undefined,
    });
    let found: Inspection | undefined;
    const options = {
      ...runOptions({ mode: "rpc", extension: [], extensions: false, hook: [] }),
      ...{ dataDir, cwd, allow: allowFlags(allow, source) },
    };
    let failure: unknown;
    const words = Object.entries(script.flags ?? {}).map(([name, value]) => `--${name}=${value}`);
    const late = { words, rest: [] };
    await run({ command: "run", prompt: "", files: [], options, late }, interrupt, {
      sources: [source],
      mode: driver.mode,
      model: driver.model,
      builtins: (tools) => standIns(tools, script.tools),
      onLoaded: (loaded) => {
        driver.manager = loaded;
        found = inspect(loaded.extensions[0]!);
        if (loaded.failures().length > 0) throw new NotLoaded();
      },
    }).catch((error: unknown) => {
      if (!(error instanceof NotLoaded)) failure = error;
    });
    if (!found) throw failure;
    if (failure !== undefined) driver.diagnostics.push(errorText(failure));
    const missing = notRegistered(script, found, lineOf);
    const steps = missing ? [missing, ...driver.steps] : driver.steps;
    const passed = found.error === undefined && failure === undefined && driver.passed && !missing;
    return {
      passed,
      extension: found,
      permissions: await permissionsOf(source, found, dataDir),
      diagnostics: driver.diagnostics,
      ...(file === undefined ? {} : { script: file }),
      steps,
      notPlayed: script.steps.length - driver.steps.length,
      log: await logOf(dataDir, found.name),
    };
  } finally {
    useFolders(undefined);
    for (const name of ["HOME", "TMPDIR", "XDEV_DATA_DIR"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    await rm(root, { recursive: true, force: true });
    process.off("exit", remove);
  }
}

/** Ends a run before its session begins: what was to be known of an extension that did not load is known. */
class NotLoaded extends Error {}

async function makePlaces(
  root: string,
  { files = {}, config }: TestScript,
): Promise<Record<"dataDir" | "cwd" | "home" | "tmp", string>> {
  const places = {
    dataDir: join(root, "data"),
    cwd: join(root, "work"),
    home: join(root, "home"),
    tmp: join(root, "tmp"),
  };
  for (const folder of Object.values(places)) await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    const file = join(places.cwd, path);
    await mkdir(dirname(file), { recursive: true })
      .then(() => writeFile(file, text))
      .catch((error: unknown) => {
        const why = errorText(error);
        throw new XdevError(
          "bad-test-script",
          `the script's file ${JSON.stringify(path)} can't be made: ${why}`,
        );
      });
  }
  // JSON is YAML.
  if (config) await writeFile(join(places.dataDir, "config.yml"), JSON.stringify(config));
  return places;
}

function allowFlags(
  allow: TestAllow | TestScript["allow"],
  { name, path }: ExtensionSource,
): AllowFlags | undefined {
  if (allow === undefined || allow === "declared") return undefined;
  if (allow === "all") return { permissions: {}, all: [path, ...(name === undefined ? [] : [name])] };
  return { permissions: allow as RawPermissions, all: [] };
}

/** A step in which names are missing that the script says are registered. */
function notRegistered(
  { registers = {} }: TestScript,
  found: Inspection,
  lineOf: (path: readonly PropertyKey[]) => number,
): StepReport | undefined {
  const failures = Object.entries(registers).flatMap(([kind, names = []]) => {
    const known = found[kind as keyof typeof registers];
    return names.flatMap((name, index) =>
      known.includes(name)
        ? []
        : [
            {
              line: lineOf(["registers", kind, index]),
              message: `expected ${name} among the ${kind}, got ${known.join(", ") || "none"}`,
            },
          ],
    );
  });
  if (failures.length === 0) return undefined;
  return { line: lineOf(["registers"]), title: "what it registers", failures };
}

async function permissionsOf(
  source: ExtensionSource,
  { kind, name }: Inspection,
  dataDir: string,
): Promise<TestReport["permissions"]> {
  if (kind === "process") return { source: "none", asked: [], used: [], denied: [] };
  const [asked, audit] = await Promise.all([
    requestedBy(source, dataDir).catch(() => undefined),
    readAudit(dataDir, storageName(source.path, name, dataDir)).catch(() => []),
  ]);
  const texts = (isAllowed: boolean) => {
    const decisions = audit.filter(({ allowed, by }) => allowed === isAllowed && by !== "free");
    return [...new Set(decisions.map(({ kind, what }) => visible(oneLine(`${kind} ${what}`)).trim()))];
  };
  return {
    source: asked?.declaration.source ?? "none",
    asked: asked ? listOf(asked.declaration.permissions).map(permissionText) : [],
    used: texts(true),
    denied: texts(false),
  };
}

async function logOf(dataDir: string, name: string): Promise<string[]> {
  const text = await readFile(join(dataDir, "logs", `ext-${name}.log`), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean).slice(-LOG_LINES).map(oneLine);
}

function textOf(report: TestReport): string {
  const { extension, permissions, script, steps, passed } = report;
  const rows = [page(extension).trimEnd()];
  if (extension.kind === "process") rows.push("  permissions: none, it is an executable");
  else {
    const { source: from, asked, used, denied } = permissions;
    rows.push(`  permissions: ${asked.length === 0 ? "asks for nothing" : `${from}: ${asked.join(", ")}`}`);
    if (used.length > 0) rows.push(`  used: ${used.join(", ")}`);
    if (denied.length > 0) rows.push(`  denied: ${denied.join(", ")}`);
  }
  for (const text of report.diagnostics) rows.push(`  told: ${oneLine(text)}`);
  const where = script === undefined ? "" : basename(script);
  for (const { line, title, failures } of steps) {
    rows.push(`${failures.length === 0 ? "ok  " : "FAIL"}  ${where}:${line}  ${oneLine(title)}`);
    for (const one of failures) rows.push(`        ${where}:${one.line}: ${oneLine(one.message)}`);
  }
  if (report.notPlayed > 0) rows.push(`${report.notPlayed} more not played`);
  if (!passed && report.log.length > 0)
    rows.push("the end of its log:", ...report.log.map((line) => `  ${line}`));
  const failed = steps.filter(({ failures }) => failures.length > 0).length;
  if (extension.error !== undefined) rows.push("it did not load");
  else if (script === undefined) rows.push(`no script: nothing was played. Write one: xdev docs testing`);
  else rows.push(`${steps.length - failed} passed, ${failed} failed`);
  return `${rows.map((row) => visible(row)).join("\n")}\n`;
}
