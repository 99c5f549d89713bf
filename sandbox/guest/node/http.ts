/** `node:http`: the client. */
import { unsupported } from "./errors.ts";
import { Agent } from "./http_agent.ts";
import { ClientRequest } from "./http_client.ts";
import { IncomingMessage } from "./http_incoming.ts";
import { type RequestOptions, readArguments } from "./http_options.ts";
import { OutgoingMessage, validateHeaderName, validateHeaderValue } from "./http_outgoing.ts";
import { METHODS, STATUS_CODES } from "./http_tables.ts";

export {
  Agent,
  ClientRequest,
  IncomingMessage,
  METHODS,
  OutgoingMessage,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
};

export const maxHeaderSize = 65_536;
export let globalAgent: Agent = new Agent({ keepAlive: true });

/** The same for `https`, with its agent. */
export function requestWith(agent: Agent, input: unknown, second?: unknown, third?: unknown): ClientRequest {
  const { options, callback } = readArguments(input, second, third);
  const given: RequestOptions = { _defaultAgent: agent, ...options };
  return new ClientRequest(given, callback);
}

export function request(input: unknown, second?: unknown, third?: unknown): ClientRequest {
  return requestWith(globalAgent, input, second, third);
}

export function get(input: unknown, second?: unknown, third?: unknown): ClientRequest {
  const made = request(input, second, third);
  made.end();
  return made;
}

export function setMaxIdleHTTPParsers(): void {}

/** An extension listens to nothing. */
export function createServer(): never {
  throw unsupported("a server: http.createServer()");
}

export class Server {
  constructor() {
    createServer();
  }
}

export class ServerResponse {
  constructor() {
    createServer();
  }
}

// Short names in a built text are not what they are called.
for (const [name, Class] of Object.entries({ Agent, ClientRequest, IncomingMessage, OutgoingMessage })) {
  Object.defineProperty(Class, "name", { value: name, configurable: true });
}

export default {
  Agent,
  ClientRequest,
  IncomingMessage,
  METHODS,
  OutgoingMessage,
  STATUS_CODES,
  Server,
  ServerResponse,
  createServer,
  get,
  get globalAgent() {
    return globalAgent;
  },
  set globalAgent(agent: Agent) {
    globalAgent = agent;
  },
  maxHeaderSize,
  request,
  setMaxIdleHTTPParsers,
  validateHeaderName,
  validateHeaderValue,
};
