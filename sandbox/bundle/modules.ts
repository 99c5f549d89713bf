/**
 * Which module names are never files of an extension. What must hold: a name that the host answers is never taken from
 * the extension's own `node_modules` (a copy of the host's package there would not be the host's). What no sandbox can offer is
 * the guest's to answer, too, when it is used: packages import it in branches that they do not take. Zod is no such name: an
 * extension that brings a version of its own is bundled with that one, and only the others get the host's.
 */
import { ABSENT_MODULES, NATIVE_LOADERS } from "../guest/absent-names.ts";
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

export type ModuleKind = "external" | "package";

/** What a bare specifier (not a path, not a URL but `node:`) means. */
export function moduleKind(specifier: string): ModuleKind {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  const top = name.split("/", 1)[0]!;
  if (specifier !== name || NODE_MODULES.has(top) || ABSENT_MODULES.has(name)) return "external";
  const own = packageName(specifier);
  return hostModule(specifier) !== undefined || HOST_PACKAGES.has(own) || NATIVE_LOADERS.has(own)
    ? "external"
    : "package";
}

/** `@a/b` of `@a/b/c`, `a` of `a/b`. */
export function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
