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
  resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  connectMs: 10_000,
  idleMs: 300_000,
};

/** The most addresses of one name that are tried. */
const MAX_ADDRESSES = 8;

/**
 * A connection to `target` that its extension may have. `asking` is told when a question begins and ends, since nobody's
 * clock runs meanwhile. Rejects with `CallError`: by rights (`EACCES`), or as Node's would (`ENOTFOUND`, `ECONNREFUSED`, `ETIMEDOUT`, a
 * certificate's fault, …).
 */
export async function connect(
  target: Target,
  rights: Rights,
  settings: NetSettings,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port } = target;
  await rights.demand({ kind: "net", host, port });
  signal.throwIfAborted();
  let failure: unknown;
  for (const address of await addressesOf(host, settings, signal)) {
    if (!isPublicAddress(address)) {
      await rights.demand({ kind: "net-address", host, address, port });
    }
    signal.throwIfAborted();
    try {
      return await connectTo(address, target, settings, signal);
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
  settings: NetSettings,
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
        ...(settings.ca === undefined ? {} : { ca: settings.ca }),
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
    await until(ready, settings.connectMs, signal);
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
  let stop = (): void => {};
  const over = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new CallError("ETIMEDOUT", "connect ETIMEDOUT")), ms);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    stop();
  }
}
