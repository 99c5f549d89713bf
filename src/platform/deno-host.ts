/** The extension host's process under Deno: built into one text, and run by the loader in deno-guest.ts. */
import { serve } from "../../sandbox/host/serve.ts";
import { carryGuest } from "./guest-carrier.ts";

/** Serves until the agent closes the pipe. `rest` has been read already. */
export async function runHost(
  boot: string,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  rest: Uint8Array,
): Promise<never> {
  const output = Deno.stdout.writable.getWriter();
  const url = URL.createObjectURL(new Blob([boot], { type: "text/javascript" }));
  const take = serve({
    startGuest: async () => carryGuest(new Worker(url, { type: "module", name: "xdev-guest" })),
    write: (bytes) => output.write(bytes),
    exit: () => Deno.exit(0),
  });
  take(rest);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return Deno.exit(0);
    take(value);
  }
}
