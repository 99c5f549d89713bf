/** `node:https`: `http` with certificates, which the host checks. */
import * as http from "node:http";
import { unsupported } from "./errors.ts";

type Request = (agent: unknown, ...args: unknown[]) => { end(): void };
/** An export of ours that Node's has not. */
const { requestWith } = http as unknown as { requestWith: Request };

export class Agent extends (http.Agent as unknown as new (options?: object) => object) {
  protocol = "https:";
  defaultPort = 443;
}

export let globalAgent: Agent = new Agent({ keepAlive: true });

export function request(...args: unknown[]): unknown {
  return requestWith(globalAgent, ...args);
}

export function get(...args: unknown[]): unknown {
  const made = requestWith(globalAgent, ...args);
  made.end();
  return made;
}

/** An extension listens to nothing. */
export function createServer(): never {
  throw unsupported("a server: https.createServer()");
}

export class Server {
  constructor() {
    createServer();
  }
}

export default {
  Agent,
  Server,
  createServer,
  get,
  get globalAgent() {
    return globalAgent;
  },
  set globalAgent(agent: Agent) {
    globalAgent = agent;
  },
  request,
};
