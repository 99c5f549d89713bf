/**
 * What a script does beyond the sandbox and the folders that are made for it. A script that was found beside an extension may be a
 * stranger's, as the extension may be: it is played as far as it stays within them. Who names it has read it.
 */
import { permissionText } from "../../sandbox/permissions/describe.ts";
import { listOf, type Permission, type Permissions } from "../../sandbox/permissions/permissions.ts";
import { parseUserCommand } from "../agent/user-commands.ts";
import type { TestScript } from "./script.ts";

/** Commands of rpc mode that run programs, or reach files by a path. */
const REACHING: ReadonlySet<string> = new Set(["bash", "export_html", "switch_session"]);

/** What takes the user's word, as words; empty for a script that stays inside. */
export function beyondSandbox({ allow, tools, steps }: TestScript): string[] {
  const found: string[] = [];
  if (tools === "real") found.push("uses the agent's own tools, which have your rights");
  if (allow === "all") found.push("lets the extension do everything that can be allowed");
  else if (typeof allow === "object") {
    found.push(...reaching(allow).map((one) => `lets the extension ${permissionText(one)}`));
  }
  for (const { prompt, rpc } of steps) {
    if (rpc && REACHING.has(rpc.type)) found.push(`has the command ${rpc.type}`);
    if (prompt !== undefined && parseUserCommand(prompt)) found.push("runs commands of the user");
  }
  return [...new Set(found)];
}

/** Those that reach something which was not made for the test. */
export function reaching(permissions: Permissions): Permission[] {
  return listOf(permissions).filter(({ kind, value }) => {
    if (kind === "read" || kind === "write") return !/^\$(?:CWD|HOME|TMP|DATA)(?:\/|$)/.test(value);
    return kind === "net" || kind === "run" || kind === "env" || kind === "provider";
  });
}
