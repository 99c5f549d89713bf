import { hostModule } from "./host/names.ts";

/** The names of the texts of packages.ts, for who only looks one up: a worker has no use for what they are made of. */
export const SOURCE_NAMES = [
  "api",
  "internal/theme",
  "internal/render",
  "internal/prompt",
  "typebox",
  "internal/typebox",
  "@sinclair/typebox",
  "internal/@sinclair/typebox",
  "internal/typebox-more",
  "typebox/compile",
  "typebox/error",
  "typebox/format",
  "typebox/guard",
  "typebox/schema",
  "typebox/system",
  "typebox/type",
  "typebox/value",
  "internal/@sinclair/typebox-more",
  "@sinclair/typebox/compiler",
  "@sinclair/typebox/errors",
  "@sinclair/typebox/system",
  "@sinclair/typebox/type",
  "@sinclair/typebox/value",
  "zod",
  "pi-coding-agent",
  "internal/agent-tools",
  "internal/agent-screen",
  "internal/agent-theme",
  "internal/agent-editor",
  "internal/agent-session",
  "internal/yaml",
  "pi-ai",
  "internal/pi-ai",
  "internal/model-registry",
  "pi-tui",
  "internal/pi-tui",
  "internal/pi-tui-components",
  "internal/pi-tui-markdown",
  "internal/pi-tui-screens",
  "pi-agent-core",
  "pi-utils",
  "buffer",
  "events",
  "fs",
  "fs/promises",
  "path",
  "path/posix",
  "path/win32",
  "querystring",
  "stream",
  "stream/promises",
  "string_decoder",
  "url",
  "util",
  "util/types",
  "internal/inspect",
  "child_process",
  "os",
  "process",
  "readline",
  "readline/promises",
  "tty",
  "net",
  "tls",
  "dns",
  "dns/promises",
  "punycode",
  "http",
  "https",
  "web:clone",
  "web:compression",
  "web:fetch",
  "web:streams",
  "assert",
  "assert/strict",
  "async_hooks",
  "constants",
  "crypto",
  "diagnostics_channel",
  "module",
  "perf_hooks",
  "stream/web",
  "timers",
  "timers/promises",
  "zlib",
  "internal/hashes",
  "internal/ciphers",
  "internal/zlib",
  "internal/zlib-streams",
  "internal/brotli",
  "internal/more-hashes",
  "stream/consumers",
  "console",
  "internal/absent",
] as const;

export type SourceName = (typeof SOURCE_NAMES)[number];

/** Packages whose names an extension may write otherwise. */
const ALIASES: Readonly<Record<string, SourceName>> = {
  "zod/v4": "zod",
  "typebox/compiler": "typebox/compile",
};

/** The name of the text that a specifier means, undefined for none. */
export function guestSourceName(specifier: string): SourceName | undefined {
  const host = hostModule(specifier);
  if (host !== undefined) return host;
  if (Object.hasOwn(ALIASES, specifier)) return ALIASES[specifier];
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  return (SOURCE_NAMES as readonly string[]).includes(name) ? (name as SourceName) : undefined;
}

/** The module by which ours reach the host: no text, the API makes it. */
export const SYSTEM = "xdev:system";
