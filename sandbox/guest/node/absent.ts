/** Modules of Node's that no sandbox can offer, each as it is where it is not used: names that throw, and what tells where one is. */
import { refused } from "./refused.ts";

type Exports = Record<string, unknown>;

function module(name: string, why: string, throwing: string, there: Exports = {}): Exports {
  const exports: Exports = { ...there };
  for (const member of throwing.split(" ")) exports[member] = refused(`${name}.${member}`, why);
  exports.default = exports;
  return exports;
}

const nothing = (): void => {};
const no = (): boolean => false;

const ENGINE = "the engine is not an extension's";
const inspector = module("inspector", ENGINE, "Session open close waitForDebugger", { url: nothing });

/** By the name of the module, without `node:`. */
export const modules: Record<string, Exports> = {
  worker_threads: module(
    "worker_threads",
    "an extension has one thread",
    "Worker MessageChannel MessagePort BroadcastChannel receiveMessageOnPort moveMessagePortToContext postMessageToThread",
    {
      isMainThread: true,
      isInternalThread: false,
      threadId: 0,
      parentPort: null,
      workerData: null,
      resourceLimits: {},
      SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
      getEnvironmentData: nothing,
      setEnvironmentData: nothing,
      markAsUncloneable: nothing,
      markAsUntransferable: nothing,
      isMarkedAsUntransferable: no,
    },
  ),
  vm: module(
    "vm",
    "an extension has one realm: eval and new Function work in it",
    "Script createScript createContext runInContext runInNewContext runInThisContext compileFunction measureMemory Module SourceTextModule SyntheticModule",
    { isContext: no, constants: {} },
  ),
  v8: module(
    "v8",
    ENGINE,
    "getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics getHeapSnapshot writeHeapSnapshot setFlagsFromString " +
      "serialize deserialize Serializer Deserializer DefaultSerializer DefaultDeserializer takeCoverage stopCoverage queryObjects",
    {
      cachedDataVersionTag: () => 0,
      setHeapSnapshotNearHeapLimit: nothing,
      startupSnapshot: { isBuildingSnapshot: no },
    },
  ),
  inspector,
  "inspector/promises": inspector,
  cluster: module(
    "cluster",
    "an extension is no process",
    "fork setupPrimary setupMaster disconnect Worker",
    {
      isPrimary: true,
      isMaster: true,
      isWorker: false,
      workers: {},
      settings: {},
      SCHED_NONE: 1,
      SCHED_RR: 2,
    },
  ),
  repl: module("repl", "an extension has no terminal of its own", "start REPLServer Recoverable", {
    builtinModules: [],
  }),
  wasi: module("wasi", "it gives files without asking: use node:fs", "WASI"),
  trace_events: module("trace_events", ENGINE, "createTracing", { getEnabledCategories: nothing }),
  http2: module(
    "http2",
    "use fetch, http or https",
    "connect createServer createSecureServer performServerHandshake Http2ServerRequest Http2ServerResponse getPackedSettings getUnpackedSettings",
    {
      constants: {},
      getDefaultSettings: () => ({}),
      sensitiveHeaders: Symbol("nodejs.http2.sensitiveHeaders"),
    },
  ),
  dgram: module(
    "dgram",
    "raw sockets are not available to extensions: use fetch, http or https",
    "createSocket Socket",
  ),
  sqlite: module(
    "sqlite",
    "databases of the runtime are not available to extensions",
    "DatabaseSync Session StatementSync backup",
    {
      constants: {},
    },
  ),
  domain: module("domain", "it was never more than deprecated", "create createDomain Domain", {
    active: null,
  }),
};
