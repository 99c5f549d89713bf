/**
 * Modules that no sandbox can offer, and that packages import all the same: for a platform they are not on, in a branch that they do
 * not take. What is imported of them is there, and throws when it is used (node/absent.ts).
 */

/** Other threads, other realms, the engine itself, sockets; databases of the runtime's. */
export const ABSENT_MODULES: ReadonlySet<string> = new Set(
  "cluster dgram domain http2 inspector inspector/promises repl sqlite trace_events v8 vm wasi worker_threads".split(
    " ",
  ),
);

/** Of these, what an author is told about at once: other threads, other realms, the engine. */
export const REFUSED_MODULES: ReadonlySet<string> = new Set(
  "vm worker_threads inspector cluster repl v8 wasi trace_events".split(" "),
);

/** Packages whose only use is to load native addons: nothing of them is there. */
export const NATIVE_LOADERS: ReadonlySet<string> = new Set([
  "bindings",
  "node-gyp",
  "node-gyp-build",
  "node-gyp-build-optional-packages",
  "node-pre-gyp",
  "@mapbox/node-pre-gyp",
  "pkg-prebuilds",
  "ffi-napi",
  "koffi",
]);
