import type { HostModule } from "./host/names.ts";
import type { SourceName } from "./source-names.ts";

/** What most schemas are made of: a tenth of the package. */
const EARLY_TYPES: readonly string[] =
  "Any Array Boolean Enum Integer Literal Never Null Number Object Optional Readonly Ref String Tuple Union Unknown Unsafe".split(
    " ",
  );

const piTuiFiles = (names: string): string[] => names.split(" ").map((name) => `/pi-tui/dist/${name}.js`);

/** Files with state or classes that the parts of pi-tui share: there is one of each. */
const PI_TUI_CORE = [
  "/guest/host/tui/core.ts",
  ...piTuiFiles(
    "components/box components/cancellable-loader components/loader components/mouse-region components/select-list " +
      "components/spacer components/text components/truncated-text fuzzy keybindings keys terminal-colors terminal-image tui utils",
  ),
];
const PI_TUI_COMPONENTS = piTuiFiles(
  "colors components/editor components/h-stack components/image components/input components/scroll-view " +
    "components/settings-list components/stack components/v-stack layout-node oklab",
);
const PI_TUI_INSTEAD = Object.fromEntries(
  ["child_process", "os", "path", "perf_hooks", "url"].map((name) => [
    `node:${name}`,
    "sandbox/guest/host/tui/inert.ts",
  ]),
);

const PI_AI_INSTEAD = Object.fromEntries(
  ["auth/context", "utils/provider-env", "provider-env", "env-api-keys"].flatMap((file) =>
    ["./", "../"].map((way) => [`${way}${file}.js`, "sandbox/guest/host/ai/environment.ts"]),
  ),
);
const protocol = (name: string): SourceEntry => ({
  entry: `sandbox/guest/host/ai/protocols/${name}.ts`,
  of: "pi-ai",
  instead: { ...PI_AI_INSTEAD, openai: "sandbox/guest/host/ai/protocols/openai-client.ts" },
});
const PROTOCOLS = {
  "internal/pi-ai-anthropic": protocol("anthropic"),
  "internal/pi-ai-mistral": protocol("mistral"),
  "internal/pi-ai-openai": protocol("openai"),
} as const;

/**
 * The texts that boot evaluates inside a compartment besides the extension: our API, the modules of Node's that we have
 * (node/), the web's globals (web/) and the packages that extensions import from the host. Each is one script that fills
 * `module.exports`, and `require`s the others by these names. A build puts them into the executable; from source they
 * are made on first use.
 */
export const GUEST_SOURCES: Readonly<Record<SourceName, SourceEntry>> = {
  api: { entry: "sandbox/guest/api/index.ts" },
  "internal/older": { entry: "sandbox/guest/api/older.ts" },
  "internal/theme": { entry: "sandbox/guest/api/theme.ts" },
  "internal/render": { entry: "sandbox/guest/api/render.ts" },
  "internal/prompt": { entry: "sandbox/guest/api/prompt-options.ts" },
  typebox: { entry: "typebox", early: [...EARLY_TYPES, "InvalidLiteralValue"], rest: "internal/typebox" },
  "internal/typebox": { entry: "typebox" },
  "@sinclair/typebox": {
    entry: "@sinclair/typebox",
    early: EARLY_TYPES,
    rest: "internal/@sinclair/typebox",
  },
  "internal/@sinclair/typebox": {
    entry: "@sinclair/typebox",
    // Formats that an extension sets are those that its values are checked with.
    owns: ["/@sinclair/typebox/build/esm/type/registry/index.mjs"],
  },
  "internal/typebox-more": { entry: "sandbox/guest/host/typebox/more.ts", of: "typebox" },
  "typebox/compile": { entry: "internal/typebox-more", member: "compile" },
  "typebox/error": { entry: "internal/typebox-more", member: "error" },
  "typebox/format": { entry: "internal/typebox-more", member: "format" },
  "typebox/guard": { entry: "internal/typebox-more", member: "guard" },
  "typebox/schema": { entry: "internal/typebox-more", member: "schema" },
  "typebox/system": { entry: "internal/typebox-more", member: "system" },
  "typebox/type": { entry: "internal/typebox-more", member: "type" },
  "typebox/value": { entry: "internal/typebox-more", member: "value" },
  "internal/@sinclair/typebox-more": {
    entry: "sandbox/guest/host/typebox/sinclair-more.ts",
    of: "@sinclair/typebox",
  },
  "@sinclair/typebox/compiler": { entry: "internal/@sinclair/typebox-more", member: "compiler" },
  "@sinclair/typebox/errors": { entry: "internal/@sinclair/typebox-more", member: "errors" },
  "@sinclair/typebox/system": { entry: "internal/@sinclair/typebox-more", member: "system" },
  "@sinclair/typebox/type": { entry: "internal/@sinclair/typebox-more", member: "type" },
  "@sinclair/typebox/value": { entry: "internal/@sinclair/typebox-more", member: "value" },
  zod: { entry: "zod" },
  "pi-coding-agent": { entry: "sandbox/guest/host/coding-agent/index.ts", whole: true },
  "internal/agent-tools": { entry: "sandbox/guest/host/coding-agent/tools/index.ts" },
  "internal/agent-tools-run": { entry: "sandbox/guest/host/coding-agent/tools/run.ts" },
  "internal/agent-screen": { entry: "sandbox/guest/host/coding-agent/screen/index.ts" },
  "internal/agent-theme": { entry: "sandbox/guest/host/coding-agent/theme/index.ts" },
  "internal/agent-editor": { entry: "sandbox/guest/host/coding-agent/screen/editor.ts" },
  "internal/agent-session": { entry: "sandbox/guest/host/coding-agent/session/index.ts" },
  "internal/yaml": { entry: "yaml" },
  "pi-ai": {
    entry: "sandbox/guest/host/ai/index.ts",
    whole: true,
    owns: ["/pi-ai/utils/event-stream", "/pi-ai/dist/utils/event-stream.js"],
  },
  "internal/pi-ai": {
    entry: "sandbox/guest/host/ai/helpers.ts",
    of: "pi-ai",
    instead: PI_AI_INSTEAD,
  },
  ...PROTOCOLS,
  "internal/model-registry": { entry: "sandbox/guest/host/ai/registry.ts" },
  "pi-tui": { entry: "sandbox/guest/host/tui/index.ts", whole: true },
  "internal/pi-tui": {
    entry: "sandbox/guest/host/tui/core.ts",
    of: "pi-tui",
    owns: PI_TUI_CORE,
    instead: PI_TUI_INSTEAD,
  },
  "internal/pi-tui-components": {
    entry: "sandbox/guest/host/tui/components.ts",
    of: "pi-tui",
    owns: PI_TUI_COMPONENTS,
  },
  "internal/pi-tui-older": { entry: "sandbox/guest/host/tui/older.ts", whole: true },
  "internal/pi-tui-markdown": { entry: "sandbox/guest/host/tui/markdown.ts", of: "pi-tui" },
  "internal/pi-tui-screens": {
    entry: "sandbox/guest/host/tui/screens.ts",
    of: "pi-tui",
    instead: { "./native-platform.js": "sandbox/guest/host/tui/native.ts" },
  },
  "pi-agent-core": { entry: "sandbox/guest/host/agent-core/index.ts" },
  "pi-utils": { entry: "sandbox/guest/host/utils/index.ts" },
  buffer: { entry: "sandbox/guest/node/buffer.ts" },
  events: { entry: "sandbox/guest/node/events.ts" },
  fs: { entry: "sandbox/guest/node/fs.ts" },
  "fs/promises": { entry: "sandbox/guest/node/fs_promises.ts" },
  path: { entry: "sandbox/guest/node/path.ts" },
  "path/posix": { entry: "sandbox/guest/node/path_posix.ts" },
  "path/win32": { entry: "sandbox/guest/node/path_win32.ts" },
  querystring: { entry: "sandbox/guest/node/querystring.ts" },
  stream: {
    entry: "sandbox/guest/node/stream.ts",
    instead: {
      "process/": "sandbox/guest/node/stream_process.ts",
      "abort-controller": "sandbox/guest/node/stream_abort.ts",
      "string_decoder/": "string_decoder",
    },
  },
  "stream/promises": { entry: "sandbox/guest/node/stream_promises.ts" },
  string_decoder: { entry: "sandbox/guest/node/string_decoder.ts" },
  url: { entry: "sandbox/guest/node/url.ts" },
  util: { entry: "sandbox/guest/node/util.ts" },
  "util/types": { entry: "sandbox/guest/node/util_types.ts" },
  "internal/inspect": { entry: "sandbox/guest/node/inspect.ts", changesGlobals: true },
  child_process: { entry: "sandbox/guest/node/child_process.ts" },
  os: { entry: "sandbox/guest/node/os.ts" },
  process: { entry: "sandbox/guest/node/process.ts" },
  readline: { entry: "sandbox/guest/node/readline.ts" },
  "readline/promises": { entry: "sandbox/guest/node/readline_promises.ts" },
  tty: { entry: "sandbox/guest/node/tty.ts" },
  net: { entry: "sandbox/guest/node/net.ts" },
  tls: { entry: "sandbox/guest/node/tls.ts" },
  dns: { entry: "sandbox/guest/node/dns.ts" },
  "dns/promises": { entry: "sandbox/guest/node/dns_promises.ts" },
  punycode: { entry: "sandbox/guest/node/punycode.ts" },
  http: { entry: "sandbox/guest/node/http.ts" },
  https: { entry: "sandbox/guest/node/https.ts" },
  "web:clone": { entry: "sandbox/guest/web/structured_clone.ts" },
  "web:compression": { entry: "sandbox/guest/web/compression.ts" },
  "web:fetch": { entry: "sandbox/guest/web/fetch.ts" },
  "web:streams": { entry: "sandbox/guest/web/streams.ts" },
  assert: { entry: "sandbox/guest/node/assert.ts" },
  "assert/strict": { entry: "sandbox/guest/node/assert_strict.ts" },
  async_hooks: { entry: "sandbox/guest/node/async_hooks.ts" },
  constants: { entry: "sandbox/guest/node/constants.ts" },
  crypto: { entry: "sandbox/guest/node/crypto.ts" },
  diagnostics_channel: { entry: "sandbox/guest/node/diagnostics_channel.ts" },
  module: { entry: "sandbox/guest/node/module.ts" },
  perf_hooks: { entry: "sandbox/guest/node/perf_hooks.ts" },
  "stream/web": { entry: "sandbox/guest/node/stream_web.ts" },
  timers: { entry: "sandbox/guest/node/timers.ts" },
  "timers/promises": { entry: "sandbox/guest/node/timers_promises.ts" },
  zlib: { entry: "sandbox/guest/node/zlib.ts" },
  "internal/providers": { entry: "sandbox/guest/api/providers.ts" },
  "internal/virtual-models": { entry: "sandbox/guest/api/virtual-models.ts" },
  "internal/hashes": { entry: "sandbox/guest/node/crypto_hashes.ts" },
  "internal/ciphers": { entry: "sandbox/guest/node/crypto_ciphers.ts" },
  "internal/zlib": { entry: "sandbox/guest/node/zlib_codec.ts" },
  "internal/zlib-streams": { entry: "sandbox/guest/node/zlib_streams.ts" },
  "internal/brotli": { entry: "sandbox/guest/node/brotli.ts" },
  "internal/more-hashes": { entry: "sandbox/guest/node/crypto_more_hashes.ts" },
  "stream/consumers": { entry: "sandbox/guest/node/stream_consumers.ts" },
  console: { entry: "sandbox/guest/node/console.ts" },
  "internal/absent": { entry: "sandbox/guest/node/absent.ts" },
};

export interface SourceEntry {
  /** A file of ours, or a package. */
  entry: string;
  /** What its packages import by these names is another of the sources, or a file of ours. */
  instead?: Readonly<Record<string, string>>;
  /**
   * Names of the package that are there at once. The others come from `rest`, another of the sources, which is evaluated when
   * one of them is asked for: a package that builds types, with all its builders in the export `Type`.
   */
  early?: readonly string[];
  rest?: string;
  /** It is this export of another of the sources, its `entry`. */
  member?: string;
  /** What its export `all` holds is the module: with getters for what is evaluated later (in-parts.ts). */
  whole?: boolean;
  /** The package that it is a part of: what is imported of that is the package's file, and not the guest's module. */
  of?: HostModule | "typebox" | "@sinclair/typebox";
  /** Files, by the ends of their paths, that are in this text and no other: who else imports one gets it from here. It exports them. */
  owns?: readonly string[];
  /** It puts others in the place of some globals while it loads, and must see them. */
  changesGlobals?: boolean;
}

/** One of these, built. */
export interface GuestSource {
  /** A script; its value is a function of `require` and `module`. */
  text: string;
  /** The names of others that it requires, sorted. */
  requires: string[];
}
