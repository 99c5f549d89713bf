/**
 * Which module names are never files of an extension. What must hold: a name that the host answers is never taken from
 * the extension's own `node_modules` (a copy of the host's package there would not be the host's), and modules that
 * no sandbox can offer are refused here, where the author's file can be named, and not at run time. Zod is no such name: an
 * extension that brings a version of its own is bundled with that one, and only the others get the host's.
 */
import { hostModule } from "../guest/host/names.ts";

/** Packages that the guest provides besides the family's, with everything below them. */
const HOST_PACKAGES: ReadonlySet<string> = new Set(["typebox", "@sinclair/typebox"]);

/** Written out, so that the answer is the same under every runtime (Bun's own list has more). */
const NODE_MODULES = new Set(
  (
    "assert async_hooks buffer child_process console constants crypto dgram diagnostics_channel dns domain events fs " +
    "http http2 https module net os path perf_hooks process punycode querystring readline sea sqlite stream " +
    "string_decoder sys test timers tls tty url util zlib"
  ).split(" "),
);

/** What they are for can't be had inside a sandbox: other threads, other realms, the engine itself. */
const REFUSED_MODULES = new Set("vm worker_threads inspector cluster repl v8 wasi trace_events".split(" "));

/** Packages whose only use is to load native addons. */
const NATIVE_LOADERS = new Set([
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

export type ModuleKind = "external" | "refused" | "native" | "package";

/** What a bare specifier (not a path, not a URL but `node:`) means. */
export function moduleKind(specifier: string): ModuleKind {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  const top = name.split("/", 1)[0]!;
  if (REFUSED_MODULES.has(top)) return "refused";
  if (specifier !== name || NODE_MODULES.has(top)) return "external";
  if (NATIVE_LOADERS.has(packageName(specifier))) return "native";
  return hostModule(specifier) !== undefined || HOST_PACKAGES.has(packageName(specifier))
    ? "external"
    : "package";
}

/** `@a/b` of `@a/b/c`, `a` of `a/b`. */
export function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
