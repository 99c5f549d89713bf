/** `node:net` without sockets: what tells addresses apart works, what would open a connection says what to use instead. */
import { refused } from "./refused.ts";

const WHY = "raw sockets are not available to extensions: use fetch, http or https";
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`^${BYTE}(?:\\.${BYTE}){3}$`);

export function isIPv4(text: unknown): boolean {
  return IPV4.test(String(text));
}

export function isIPv6(text: unknown): boolean {
  const [address = "", zone, ...rest] = String(text).split("%");
  if (rest.length > 0 || zone === "" || !/^[\da-f:.]+$/i.test(address)) return false;
  try {
    // The URL parser knows all forms.
    return new URL(`http://[${address}]/`).hostname !== "";
  } catch {
    return false;
  }
}

/** 4, 6, or 0 for what is no address. */
export function isIP(text: unknown): 0 | 4 | 6 {
  return isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0;
}

export const Socket = refused("net.Socket", WHY);
export const Stream = Socket;
export const Server = refused("net.Server", WHY);
export const connect = refused("net.connect", WHY);
export const createConnection = refused("net.createConnection", WHY);
export const createServer = refused("net.createServer", WHY);

export default { isIP, isIPv4, isIPv6, Socket, Stream, Server, connect, createConnection, createServer };
