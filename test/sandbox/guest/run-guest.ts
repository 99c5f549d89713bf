/** An extension in a real worker, with a broker that has everything but files and network; and the same code outside of it. */
import { createRequire } from "node:module";
import { identifyExtensions } from "../../../src/extensions/discovery.ts";
import { ExtensionManager } from "../../../src/extensions/manager.ts";
import { FakeRights, testBroker } from "../../support/broker.ts";
import { Folder } from "../../support/folder.ts";
import { TEST_SETTINGS } from "../../support/level.ts";

/** Gives JSON data. It may use nothing but its parameter: its text runs in the guest. */
// biome-ignore lint/suspicious/noExplicitAny: the same text runs with the guest's modules and with the runtime's
export type Scenario = (modules: any) => unknown;

const MODULES = ["child_process", "os", "process", "readline", "tty", "util", "stream", "events"] as const;

/** Runs a scenario with the runtime's own modules. */
export async function outside(scenario: Scenario): Promise<unknown> {
  const require = createRequire(import.meta.url);
  const modules = Object.fromEntries(MODULES.map((name) => [name, require(`node:${name}`)]));
  return JSON.parse(JSON.stringify((await scenario(modules)) ?? null));
}

export interface Guest extends AsyncDisposable {
  rights: FakeRights;
  /** Where it works. */
  folder: Folder;
  /** What it logged: `level text`. */
  log: string[];
  run(name: string): Promise<unknown>;
}

/** Loads one extension that has all the scenarios. `packages` are further modules that they get: from their names there to what is imported. */
export async function guestOf(
  scenarios: Readonly<Record<string, Scenario>>,
  rights = new FakeRights((request) => request.kind !== "write"),
  packages: Readonly<Record<string, string>> = {},
): Promise<Guest> {
  const folder = new Folder();
  const imports = [
    ...MODULES.map((name) => `import ${name} from "node:${name}";`),
    ...Object.entries(packages).map(([name, from]) => `import * as ${name} from ${JSON.stringify(from)};`),
  ].join("\n");
  const texts = Object.entries(scenarios).map(([name, run]) => `${JSON.stringify(name)}: ${run}`);
  const file = folder.file(
    "guest.js",
    `${imports}
const modules = { ${[...MODULES, ...Object.keys(packages)].join()}, pi: undefined };
const scenarios = {\n${texts.join(",\n")}\n};
export default (pi) => {
  modules.pi = pi;
  pi.registerTool({
    name: "run", label: "run", description: "", parameters: { type: "object" },
    async execute(id, { name }) {
      const value = (await scenarios[name](modules)) ?? null;
      return { content: [{ type: "text", text: JSON.stringify(value) }] };
    },
  });
};`,
  );
  const made = testBroker(folder.path, { rights });
  const about = {
    env: { GRANTED: "yes" },
    platform: process.platform,
    arch: process.arch,
    pid: process.pid,
    wasm: false,
    cwd: folder.path,
    home: "/home/nobody",
    tmp: "/tmp",
    data: `${folder.path}/data`,
  };
  const log: string[] = [];
  const manager = await ExtensionManager.load({
    sources: await identifyExtensions(file),
    settings: TEST_SETTINGS,
    env: process.env,
    host: {
      notice: () => {},
      notify: () => {},
      action: () => {},
      log: (_extension, level, text) => {
        log.push(`${level} ${text}`);
        return false;
      },
    },
    authority: async () => ({ rights, broker: made.broker, about }),
  });
  const [tool] = manager.tools([]);
  if (!tool) throw new Error(manager.failures()[0]?.reason ?? "no tool");
  return {
    rights,
    folder,
    log,
    async run(name) {
      const result = await tool.execute("c", { name });
      const text = (result.content as { text: string }[])[0]?.text ?? "";
      if ((result as { isError?: boolean }).isError) throw new Error(text);
      return JSON.parse(text);
    },
    async [Symbol.asyncDispose]() {
      await manager.stop();
      await made.broker.close();
      folder[Symbol.dispose]();
    },
  };
}
