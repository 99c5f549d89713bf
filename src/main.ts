/** The entry: parse, dispatch. Each command's code is loaded only if it is the one to run. */
import { leaveStartFolder } from "./base/start-folder.ts";
import { type Invocation, parseArguments } from "./cli/args.ts";

leaveStartFolder();
process.exitCode = await main(parseArguments(process.argv.slice(2)));

async function main(invocation: Invocation): Promise<number> {
  if (invocation.command === "none") return invocation.status;
  const { guardProcess } = await import("./cli/process-guard.ts");
  return guardProcess(async (interrupt) => {
    switch (invocation.command) {
      case "run":
        return (await import("./cli/run.ts")).run(invocation, interrupt);
      case "ext-list":
      case "ext-inspect":
        return (await import("./cli/ext.ts")).ext(invocation);
      case "models":
        return (await import("./cli/models.ts")).models(invocation, interrupt);
    }
  });
}
