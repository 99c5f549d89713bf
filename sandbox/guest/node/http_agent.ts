/** `Agent`: there, for those who make one. Each request has a connection of its own. Bundled into `http`. */
import { EventEmitter } from "node:events";

export class Agent extends EventEmitter {
  protocol = "http:";
  defaultPort = 80;
  readonly options: Record<string, unknown>;
  keepAlive: boolean;
  keepAliveMsecs: number;
  maxSockets: number;
  maxFreeSockets: number;
  maxTotalSockets: number;
  readonly sockets: Record<string, never[]> = {};
  readonly freeSockets: Record<string, never[]> = {};
  readonly requests: Record<string, never[]> = {};

  constructor(options: Record<string, unknown> = {}) {
    super();
    this.options = { ...options };
    this.keepAlive = options.keepAlive === true;
    this.keepAliveMsecs = Number(options.keepAliveMsecs ?? 1000);
    this.maxSockets = Number(options.maxSockets ?? Number.POSITIVE_INFINITY);
    this.maxFreeSockets = Number(options.maxFreeSockets ?? 256);
    this.maxTotalSockets = Number(options.maxTotalSockets ?? Number.POSITIVE_INFINITY);
  }

  getName(options: { host?: string; port?: number | string; localAddress?: string } = {}): string {
    return `${options.host ?? "localhost"}:${options.port ?? ""}:${options.localAddress ?? ""}`;
  }

  destroy(): void {}
}
