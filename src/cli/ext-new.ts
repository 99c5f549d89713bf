/** `xdev ext new NAME`: a small extension that works, to begin with. Its files are those in src/docs/templates. */
import { rmSync } from "node:fs";
import { lstat, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { shellQuote } from "../../sandbox/permissions/request-text.ts";
import { errorText, systemCode, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { print } from "../base/output.ts";
import { randomHex } from "../base/random.ts";
import { startFolder } from "../base/start-folder.ts";
import { escapeControls, stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { apiTypes } from "../docs/manual.ts";
import { docFiles } from "../platform/docs.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";

type NewInvocation = Extract<Invocation, { command: "ext-new" }>;

/** What the templates call the extension. */
const PLACEHOLDER = "my-extension";
/** A name of a package, of a part of a tool's name, and of a file, everywhere. */
const NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/**
 * Gives the exit status. Throws `XdevError` with code `usage` for a name that can't be one, for a folder to put it into that is none,
 * and for one that is there already; then, and when something fails, nothing is left of it.
 */
export async function extNew(invocation: NewInvocation): Promise<number> {
  const { name, language, options } = invocation;
  if (!NAME.test(name)) {
    throw new XdevError("usage", `${JSON.stringify(stripControls(name))} can't be the name of an extension`, {
      hint: "it takes up to 40 lower-case letters, digits, - and _, and begins with a letter",
    });
  }
  const parent = resolvePath(invocation.folder ?? options.cwd ?? ".", startFolder());
  const folder = join(parent, name);
  if (!(await isFolder(parent))) throw new XdevError("usage", `${parent} is not a folder`);
  const files = await templateFiles(name, language);
  await makeFolder(folder, files);

  const shown = relative(startFolder(), folder) || folder;
  const path = shown.startsWith("..") || shown === folder ? folder : `./${shown}`;
  const main = language === "ts" ? path : `${path}/${files.find(({ isProgram }) => isProgram)!.path}`;
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const installed = join(dataDir, "extensions");
  const next = [
    ["try it, with a script in the place of the model", `xdev ext test ${shellQuote(main)}`],
    ["use it in a session", `xdev -p "what is here?" -e ${shellQuote(main)}`],
    [
      "use it in every session",
      `mkdir -p ${shellQuote(installed)} && cp -r ${shellQuote(main)} ${shellQuote(installed)}/`,
    ],
    ...(language === "ts" ? [["let it do what it asks for", `xdev ext grant ${name}`]] : []),
  ] as [string, string][];
  if (invocation.json) {
    const made = files.map((file) => file.path);
    print(
      "stdout",
      `${escapeControls(JSON.stringify({ name, language, folder, main: join(folder, mainOf(files)), files: made, next: next.map(([, command]) => command) }, null, 2))}\n`,
    );
    return EXIT.done;
  }
  const lines = [
    `made ${path}: ${files.map((file) => file.path).join(", ")}`,
    ...next.flatMap(([about, command]) => [`${about}:`, `  ${command}`]),
    "the guide: xdev docs extensions",
  ];
  print("stdout", `${lines.join("\n")}\n`);
  return EXIT.done;
}

interface TemplateFile {
  path: string;
  text: string;
  isProgram: boolean;
}

/** The files of a new extension. */
export async function templateFiles(
  name: string,
  language: NewInvocation["language"],
): Promise<TemplateFile[]> {
  const all = await docFiles();
  const prefix = `templates/${language}/`;
  const named = (text: string) => text.replaceAll(PLACEHOLDER, name);
  const files = Object.entries(all).flatMap(([path, text]) =>
    path.startsWith(prefix)
      ? [{ path: named(path.slice(prefix.length)), text: named(text), isProgram: text.startsWith("#!") }]
      : [],
  );
  if (language === "ts") files.push({ path: "xdev.d.ts", text: apiTypes(all), isProgram: false });
  return files;
}

/** What `xdev` is to load. */
function mainOf(files: readonly TemplateFile[]): string {
  return files.find(({ isProgram }) => isProgram)?.path ?? "index.ts";
}

/** Writes a folder beside its place and moves it there when it is whole. */
async function makeFolder(folder: string, files: readonly TemplateFile[]): Promise<void> {
  if (await isThere(folder)) throw taken(folder);
  const temporary = `${folder}.${randomHex(6)}.tmp`;
  const remove = () => rmSync(temporary, { recursive: true, force: true });
  process.on("exit", remove);
  try {
    await mkdir(temporary);
    for (const { path, text, isProgram } of files) {
      await writeFile(join(temporary, path), text, { mode: isProgram ? 0o777 : 0o666, flag: "wx" });
    }
    if (await isThere(folder)) throw taken(folder);
    await rename(temporary, folder);
  } catch (error) {
    if (error instanceof XdevError) throw error;
    if (["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(systemCode(error) ?? "")) throw taken(folder);
    throw new XdevError("not-written", `can't make ${folder}: ${errorText(error)}`);
  } finally {
    await rm(temporary, { recursive: true, force: true }).catch(() => {});
    process.off("exit", remove);
  }
}

function taken(folder: string): XdevError {
  return new XdevError("usage", `${folder} is there already`, {
    hint: "take another name, or another folder with --dir",
  });
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => systemCode(error) !== "ENOENT",
  );
}

async function isFolder(path: string): Promise<boolean> {
  return lstat(`${path}/.`).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
