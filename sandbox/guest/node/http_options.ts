/** What the arguments of `http.request` mean. Bundled into `http`. */
import { codedError, invalidArgument, unsupported } from "./errors.ts";

export interface RequestOptions {
  protocol?: string | null;
  host?: string | null;
  hostname?: string | null;
  port?: number | string | null;
  defaultPort?: number | string;
  path?: string | null;
  method?: string;
  headers?: unknown;
  auth?: string | null;
  agent?: unknown;
  timeout?: number;
  signal?: AbortSignal;
  setHost?: boolean;
  [other: string]: unknown;
}

type Callback = (response: unknown) => void;

/** The three forms of the arguments as one. Throws ERR_INVALID_URL, ERR_INVALID_ARG_TYPE. */
export function readArguments(
  input: unknown,
  second?: unknown,
  third?: unknown,
): { options: RequestOptions; callback: Callback | undefined } {
  const callback = (typeof second === "function" ? second : third) as Callback | undefined;
  const more = typeof second === "object" && second !== null ? (second as RequestOptions) : {};
  if (typeof input === "string") return { options: { ...urlToOptions(new URL(input)), ...more }, callback };
  if (isUrl(input)) return { options: { ...urlToOptions(input), ...more }, callback };
  if (typeof input !== "object" || input === null) {
    throw invalidArgument("url", "of type string or an instance of URL or Object", input);
  }
  return { options: { ...(input as RequestOptions), ...more }, callback };
}

function isUrl(value: unknown): value is URL {
  const { href, protocol, auth } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof href === "string" && typeof protocol === "string" && auth === undefined && value instanceof URL
  );
}

function urlToOptions(url: URL): RequestOptions {
  const options: RequestOptions = {
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    path: `${url.pathname}${url.search}`,
  };
  if (url.port !== "") options.port = Number(url.port);
  if (url.username !== "" || url.password !== "") {
    options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  }
  return options;
}

/** Options by which a connection would be another than the one that the host makes and checks. */
const REFUSED = [
  "socketPath",
  "createConnection",
  "lookup",
  "localAddress",
  "localPort",
  "ca",
  "cert",
  "key",
  "pfx",
  "servername",
  "checkServerIdentity",
  "secureContext",
  "insecureHTTPParser",
];

/** Throws ERR_FEATURE_UNAVAILABLE_ON_PLATFORM for an option that can't be honoured and must not be ignored. */
export function refuseOptions(options: RequestOptions): void {
  for (const name of REFUSED) {
    const value = options[name];
    const isSame = name === "servername" && value === (options.hostname ?? options.host);
    if (value && !isSame) throw unsupported(`the option ${name} of http.request`);
  }
  if (options.rejectUnauthorized === false) {
    throw unsupported("the option rejectUnauthorized: false of http.request");
  }
}

/** Where a request goes. Throws ERR_INVALID_PROTOCOL, ERR_UNESCAPED_CHARACTERS. */
export function targetOf(
  options: RequestOptions,
  agent: { protocol: string; defaultPort: number },
): { protocol: string; host: string; path: string; url: string } {
  const protocol = options.protocol || agent.protocol;
  if (protocol !== "http:" && protocol !== "https:") {
    throw codedError(
      TypeError,
      "ERR_INVALID_PROTOCOL",
      `Protocol "${protocol}" not supported. Expected "${agent.protocol}"`,
    );
  }
  const host = String(options.hostname || options.host || "localhost");
  const path = String(options.path || "/");
  if (/[^\x21-\xff]/.test(path)) {
    throw codedError(TypeError, "ERR_UNESCAPED_CHARACTERS", "Request path contains unescaped characters");
  }
  const usual = protocol === "https:" ? 443 : 80;
  const port = Number(options.port || options.defaultPort || usual);
  if (!Number.isInteger(port) || port < 0 || port > 65_535 || /[/?#@\\\s]/.test(host)) {
    throw codedError(TypeError, "ERR_INVALID_ARG_VALUE", `Invalid host or port: ${host}:${options.port}`);
  }
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const slash = path.startsWith("/") ? "" : "/";
  return { protocol, host, path, url: `${protocol}//${name}:${port}${slash}${path}` };
}
