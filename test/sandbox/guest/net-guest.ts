/** An extension in a real worker, with the network's part of a broker. */
import { createNetOperations } from "../../../sandbox/broker/net.ts";
import { NET_SETTINGS } from "../../../sandbox/broker/net-connect.ts";
import { identifyExtensions } from "../../../src/extensions/discovery.ts";
import { ExtensionManager } from "../../../src/extensions/manager.ts";
import { FakeRights, testBroker } from "../../support/broker.ts";
import { Folder } from "../../support/folder.ts";
import { TEST_SETTINGS } from "../../support/level.ts";

/**
 * Evaluates `body`, an async function's body with `args` in scope, in a fresh extension, and gives its result as JSON does.
 * `top` stands before it at the top of the module. An error is thrown as its text.
 */
export async function inGuest(
  body: string,
  args: Record<string, unknown> = {},
  options: { top?: string; allow?: (host: string) => boolean } = {},
): Promise<unknown> {
  using folder = new Folder();
  const file = folder.file(
    "guest.ts",
    `${options.top ?? ""}
const main = async (args: any) => {\n${body}\n};
export default (pi: any) => {
  pi.registerTool({
    name: "run", label: "run", description: "", parameters: { type: "object" },
    async execute(_id: string, args: any) {
      try {
        return { content: [{ type: "text", text: JSON.stringify({ value: await main(args) }) }] };
      } catch (error: any) {
        return { content: [{ type: "text", text: JSON.stringify({ error: String(error?.stack ?? error) }) }] };
      }
    },
  });
};`,
  );
  const { allow = () => true } = options;
  const rights = new FakeRights(
    (request) => request.kind !== "net" || allow(`${request.host}:${request.port}`),
  );
  const operations = createNetOperations(NET_SETTINGS);
  await using broker = testBroker(folder.path, { rights, families: { net: async () => operations } });
  const place = { cwd: folder.path, home: "/", tmp: "/", data: "/" };
  const about = { env: {}, platform: "linux", arch: "x64", pid: 1, wasm: false, ...place };
  const manager = await ExtensionManager.load({
    sources: await identifyExtensions(file),
    settings: TEST_SETTINGS,
    env: process.env,
    host: { notice: () => {}, notify: () => {}, action: () => {} },
    authority: async () => ({ rights, broker: broker.broker, about }),
  });
  try {
    const [tool] = manager.tools([]);
    if (!tool) throw new Error(manager.failures()[0]?.reason ?? "no tool");
    const result = await tool.execute("c", args);
    const text = (result.content as { text: string }[])[0]?.text ?? "";
    const { value, error } = JSON.parse(text) as { value?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return value;
  } finally {
    await manager.stop();
  }
}
