/** How a channel to an extension comes to be: the one place that knows both transports. */
import type { Cache } from "../base/cache.ts";
import type { Channel } from "./channel.ts";
import type { ExtensionIdentity } from "./extension.ts";
import type { WorkerChannelOptions } from "./worker.ts";

export interface ConnectOptions {
  env: Record<string, string | undefined>;
  cache: Cache;
  maxFrameBytes: number;
  /** What a module may do. */
  authority?: WorkerChannelOptions["authority"];
}

/** Makes a new channel, not yet open. Loads the code of its transport and no other. */
export async function connect(
  { kind, path, name }: ExtensionIdentity,
  options: ConnectOptions,
): Promise<Channel> {
  const { env, cache, maxFrameBytes, authority } = options;
  if (kind === "process") {
    const [{ processChannel }, { programStarter }] = await Promise.all([
      import("./process.ts"),
      import("../base/process.ts"),
    ]);
    return processChannel({ path, env, maxFrameBytes, start: await programStarter() });
  }
  const [{ workerChannel }, { loadPlatform }] = await Promise.all([
    import("./worker.ts"),
    import("../platform/index.ts"),
  ]);
  const platform = await loadPlatform();
  return workerChannel({ name, path, maxFrameBytes, cache, platform, ...(authority ? { authority } : {}) });
}
