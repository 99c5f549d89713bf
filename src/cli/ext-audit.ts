/** `xdev ext audit NAME`: what an extension did and what it was denied, oldest first. */
import { type AuditEntry, readAudit } from "../../sandbox/permissions/audit.ts";
import { storageName } from "../../sandbox/permissions/folders.ts";
import { canonicalPath } from "../base/files.ts";
import { setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { escapeControls, oneLine, visible } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import type { PermissionInvocation } from "./command-args.ts";
import { moduleNamed } from "./ext-permissions.ts";
import { EXIT } from "./process-guard.ts";

type AuditInvocation = Extract<PermissionInvocation, { command: "ext-audit" }>;

/** Gives the exit status. */
export async function extAudit({ extension, json, options }: AuditInvocation): Promise<number> {
  setVerbose(options.verbose === true);
  const dataDir = await canonicalPath(dataDirectory(options.dataDir, process.env, startFolder()));
  const { name, path } = await moduleNamed(extension, dataDir);
  const entries = await readAudit(dataDir, storageName(path, name, dataDir));
  if (json) print("stdout", entries.map((entry) => `${escapeControls(JSON.stringify(entry))}\n`).join(""));
  else print("stdout", entries.length === 0 ? `nothing is known of ${name}\n` : entries.map(line).join(""));
  return EXIT.done;
}

const BY: Readonly<Record<string, string>> = {
  floor: "no permission can allow it",
  free: "needs no permission",
  flag: "by the command line",
  grant: "granted",
  never: "denied for good",
  user: "you were asked",
  once: "you were asked",
  nobody: "not granted",
  flood: "denied too often to be asked about",
};

function line({ time, kind, what, allowed, by, count }: AuditEntry): string {
  const times = count > 1 ? ` (${count} times)` : "";
  const text = oneLine(visible(`${kind} ${what}`)).trim();
  return `${oneLine(time)}  ${allowed ? "allowed" : "denied "}  ${text}${times}  ${oneLine(BY[by] ?? by)}\n`;
}
