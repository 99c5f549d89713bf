/**
 * The texts that boot evaluates inside a compartment besides the extension: our API, the modules of Node's that we have
 * (node/), the web's globals (web/) and the packages that extensions import from the host. Each is one script that fills
 * `module.exports`, and `require`s the others by these names. A build puts them into the executable; from source they
 * are made on first use.
 */
export const GUEST_SOURCES: Readonly<Record<string, SourceEntry>> = {
  api: { entry: "sandbox/guest/api/index.ts" },
  typebox: { entry: "typebox" },
  "@sinclair/typebox": { entry: "@sinclair/typebox" },
  buffer: { entry: "sandbox/guest/node/buffer.ts" },
  events: { entry: "sandbox/guest/node/events.ts" },
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
  "internal/inspect": { entry: "sandbox/guest/node/inspect.ts" },
  punycode: { entry: "sandbox/guest/node/punycode.ts" },
  http: { entry: "sandbox/guest/node/http.ts" },
  https: { entry: "sandbox/guest/node/https.ts" },
  "web:fetch": { entry: "sandbox/guest/web/fetch.ts" },
  "web:streams": { entry: "sandbox/guest/web/streams.ts" },
};

export interface SourceEntry {
  /** A file of ours, or a package. */
  entry: string;
  /** What its packages import by these names is another of the sources, or a file of ours. */
  instead?: Readonly<Record<string, string>>;
}

/** One of these, built. */
export interface GuestSource {
  /** A script; its value is a function of `require` and `module`. */
  text: string;
  /** The names of others that it requires, sorted. */
  requires: string[];
}

/** The name in `GUEST_SOURCES` that a specifier means, undefined for none. */
export function guestSourceName(specifier: string): string | undefined {
  const name = specifier.startsWith("node:") ? specifier.slice(5) : specifier;
  return Object.hasOwn(GUEST_SOURCES, name) ? name : undefined;
}

/** The module by which ours reach the host: no text, the API makes it. */
export const SYSTEM = "xdev:system";
