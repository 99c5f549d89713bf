/** `node:tls`, for packages that import it: https and fetch speak TLS for an extension. */
import { refused } from "./refused.ts";

const WHY = "raw sockets are not available to extensions: use fetch or https";

export const TLSSocket = refused("tls.TLSSocket", WHY);
export const Server = refused("tls.Server", WHY);
export const connect = refused("tls.connect", WHY);
export const createServer = refused("tls.createServer", WHY);
export const createSecureContext = refused("tls.createSecureContext", WHY);
export const checkServerIdentity = refused("tls.checkServerIdentity", WHY);
export const rootCertificates: readonly string[] = Object.freeze([]);
export const DEFAULT_MIN_VERSION = "TLSv1.2";
export const DEFAULT_MAX_VERSION = "TLSv1.3";

export default {
  TLSSocket,
  Server,
  connect,
  createServer,
  createSecureContext,
  checkServerIdentity,
  rootCertificates,
  DEFAULT_MIN_VERSION,
  DEFAULT_MAX_VERSION,
};
