/** The entry: parse, dispatch. Each command's code is loaded only if it is the one to run. */
import { leaveStartFolder } from "./base/start-folder.ts";
import type { Invocation } from "./cli/args.ts";
import { HOST_ARGUMENT } from "./platform/host-argument.ts";
import { beginStartUp, endStartUp } from "./platform/start-up.ts";

beginStartUp();
// The extension host is this program, too: nothing of the rest is loaded into it.
if (process.argv[2] === HOST_ARGUMENT) await (await import("./platform/bun-host.ts")).runHost();
setTimeout(endStartUp, 2000).unref();
leaveStartFolder();
const { parseArguments } = await import("./cli/args.ts");
process.exitCode = await main(await parseArguments(process.argv.slice(2)));

async function main(invocation: Invocation): Promise<number> {
  if (invocation.command === "none") return invocation.status;
  const { guardProcess } = await import("./cli/process-guard.ts");
  return guardProcess(async (interrupt) => {
    switch (invocation.command) {
      case "help":
        return (await import("./cli/help.ts")).help(invocation, interrupt);
      case "run":
        return (await import("./cli/run.ts")).run(invocation, interrupt);
      case "ext-list":
      case "ext-inspect":
        return (await import("./cli/ext.ts")).ext(invocation, interrupt);
      case "trust":
      case "trust-list":
      case "distrust":
        return (await import("./cli/trust.ts")).trust(invocation, interrupt);
      case "ext-trace":
        return (await import("./cli/ext-trace.ts")).extTrace(invocation, interrupt);
      case "ext-replay":
        return (await import("./cli/ext-replay.ts")).extReplay(invocation, interrupt);
      case "ext-grant":
      case "ext-revoke":
      case "ext-permissions":
        return (await import("./cli/ext-permissions.ts")).extPermissions(invocation, interrupt);
      case "ext-new":
        return (await import("./cli/ext-new.ts")).extNew(invocation);
      case "ext-types":
        return (await import("./cli/ext-types.ts")).extTypes(invocation);
      case "ext-test":
        return (await import("./cli/ext-test.ts")).extTest(invocation, interrupt);
      case "ext-audit":
        return (await import("./cli/ext-audit.ts")).extAudit(invocation);
      case "sessions-list":
      case "sessions-show":
      case "sessions-export":
      case "sessions-delete":
        return (await import("./cli/sessions.ts")).sessions(invocation, interrupt);
      case "models":
        return (await import("./cli/models.ts")).models(invocation, interrupt);
      case "login":
        return (await import("./cli/login.ts")).login(invocation, interrupt);
      case "logout":
        return (await import("./cli/login.ts")).logout(invocation);
      case "docs":
      case "docs-schema":
      case "docs-example":
        return (await import("./cli/docs.ts")).docs(invocation);
    }
  });
}
