/** How a channel to an extension comes to be: the one place that knows both transports. */
import type { Cache } from "../base/cache.ts";
import type { Channel } from "./channel.ts";
import type { ExtensionIdentity } from "./extension.ts";
import type { Guests } from "./guests.ts";
import type { WorkerChannelOptions } from "./worker.ts";

export interface ConnectOptions {
  env: Record<string, string | undefined>;
  cache: Cache;
  maxFrameBytes: number;
  maxTimers: number;
  maxHeapBytes: number;
  /** Where modules run. */
  guests: Guests;
  bundle?: WorkerChannelOptions["bundle"];
  onBundle?: WorkerChannelOptions["onBundle"];
  /** What a module may do. */
  authority?: WorkerChannelOptions["authority"];
}

/** Makes a new channel, not yet open. Loads the code of its transport and no other. */
export async function connect(
  { kind, path, name, level }: ExtensionIdentity,
  options: ConnectOptions,
): Promise<Channel> {
  const { env, cache, maxFrameBytes, maxTimers, maxHeapBytes, authority, guests, bundle, onBundle } = options;
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
  const startGuest = () =>
    guests.start(name, level === "host" ? "host" : "worker", { maxHeapBytes, maxFrameBytes });
  return workerChannel({
    name,
    path,
    maxFrameBytes,
    maxTimers,
    cache,
    platform: { ...platform, startGuest },
    bundle,
    onBundle,
    ...(authority ? { authority } : {}),
  });
}
