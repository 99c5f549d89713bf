/**
 * Connections for extensions. What must hold: nothing of a host is looked up before its extension may talk to it, since
 * the look-up alone tells its name server something; and the address that was judged is the address that is connected
 * to, as a literal, so that no second look-up can lead elsewhere. Nothing here knows of a proxy or of kept connections.
 */
import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { systemCode } from "../../src/base/errors.ts";
import { canonicalHost, isPublicAddress } from "../permissions/addresses.ts";
import { CallError, type Rights } from "./broker.ts";
import type { Target } from "./net-target.ts";

/** What tests replace. */
export interface NetSettings {
  /** The addresses of a name. */
  resolve(name: string): Promise<readonly string[]>;
  /** How long a look-up and each address's connection may take, in ms. */
  connectMs: number;
  /** How long neither side may say anything, in ms: a server that is silent, or an extension that never reads. */
  idleMs: number;
  /** Certificates to trust instead of the well-known ones. */
  ca?: string;
}

export const NET_SETTINGS: NetSettings = {
  resolve: fewAtATime(2, async (name) => (await lookup(name, { all: true })).map(({ address }) => address)),
  connectMs: 10_000,
  idleMs: 300_000,
};

/** The most addresses of one name that are tried. */
const MAX_ADDRESSES = 8;

/** How long an address may take while there is another one to try, in ms. */
const FIRST_TRY_MS = 2500;

/**
 * A connection to `target` that its extension may have. Rejects with `CallError`: by rights (`EACCES`), or as Node's would
 * (`ENOTFOUND`, `ECONNREFUSED`, `ETIMEDOUT`, a certificate's fault, …); with the signal's reason when that aborts.
 */
export async function connect(
  target: Target,
  rights: Rights,
  settings: NetSettings,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port } = target;
  await unlessAborted(rights.demand({ kind: "net", host, port }), signal);
  let failure: unknown;
  const addresses = await addressesOf(host, settings, signal);
  for (const [index, address] of addresses.entries()) {
    if (!isPublicAddress(address)) {
      await unlessAborted(rights.demand({ kind: "net-address", host, address, port }), signal);
    }
    const isLast = index === addresses.length - 1;
    const ms = isLast ? settings.connectMs : Math.min(settings.connectMs, FIRST_TRY_MS);
    try {
      return await connectTo(address, target, ms, settings.ca, signal);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Canonical, without a zone: link-local ones are judged as such, and connected to on the kernel's own choice of link. */
async function addressesOf(
  host: string,
  settings: NetSettings,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isIP(host)) return [host];
  const found = await until(settings.resolve(host), settings.connectMs, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new CallError(
      systemCode(error) ?? "ENOTFOUND",
      `getaddrinfo ${systemCode(error) ?? "ENOTFOUND"} ${host}`,
      {
        syscall: "getaddrinfo",
        hostname: host,
      },
    );
  });
  const addresses = found
    .slice(0, MAX_ADDRESSES)
    .map((address) => canonicalHost(address.replace(/%.*$/s, "")))
    .filter((address): address is string => address !== undefined && isIP(address) !== 0);
  if (addresses.length === 0) {
    throw new CallError("ENOTFOUND", `getaddrinfo ENOTFOUND ${host}`, {
      syscall: "getaddrinfo",
      hostname: host,
    });
  }
  return [...new Set(addresses)];
}

async function connectTo(
  address: string,
  target: Target,
  ms: number,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const { port, host, secure } = target;
  const socket = secure
    ? connectTls({
        host: address,
        port,
        // An address has no server name; its certificate is checked against itself.
        ...(isIP(host) ? {} : { servername: host }),
        ALPNProtocols: ["http/1.1"],
        rejectUnauthorized: true,
        ...(ca === undefined ? {} : { ca }),
      })
    : connectTcp({ host: address, port });
  // What comes before somebody reads stays in the kernel.
  socket.pause();
  const ready = new Promise<void>((resolve, reject) => {
    socket.once(secure ? "secureConnect" : "connect", resolve);
    socket.on("error", reject);
    socket.once("close", () => reject(new CallError("ECONNRESET", `connect ECONNRESET ${address}:${port}`)));
  });
  try {
    await until(ready, ms, signal);
    socket.setNoDelay(true);
    return socket;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    if (error instanceof CallError) throw error;
    const code = systemCode(error) ?? "ECONNRESET";
    const isOfCertificate = secure && !/^E[A-Z]+$/.test(code);
    throw new CallError(
      code,
      isOfCertificate
        ? `the certificate of ${host} was not accepted: ${code}`
        : `connect ${code} ${address}:${port}`,
      isOfCertificate ? {} : { syscall: "connect", address, port },
    );
  }
}

/** `promise`, or a rejection when the time is over (`ETIMEDOUT`) or the signal aborts. Leaves no timer behind. */
async function until<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T> {
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(new CallError("ETIMEDOUT", "connect ETIMEDOUT")), ms);
  try {
    return await unlessAborted(unlessAborted(promise, timeUp.signal), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** `promise`, or a rejection with the signal's reason when it aborts before. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    stop = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stop();
  }
}

/**
 * Look-ups block a thread each, of the few that the agent has for its files, too, and a name server that does not answer
 * holds one for half a minute: extensions get `count` of them together.
 */
function fewAtATime<T>(count: number, run: (name: string) => Promise<T>): (name: string) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (name) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await run(name);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
