/** The extension host's process under Bun: main.ts starts it when it is told to by `HOST_ARGUMENT`. */
import { serve } from "../../sandbox/host/serve.ts";
import { platform } from "./bun.ts";

/** Serves until the agent closes the pipe. Never returns. */
export async function runHost(): Promise<never> {
  const output = Bun.stdout.writer();
  const take = serve({
    startGuest: () => platform.startGuest(),
    write: async (bytes) => {
      await Promise.all([output.write(bytes), output.flush()]);
    },
    exit,
  });
  for await (const chunk of Bun.stdin.stream()) take(chunk);
  return exit();
}

/** No worker holds it up, whatever it is doing. */
function exit(): never {
  process.kill(process.pid, "SIGKILL");
  for (;;);
}
