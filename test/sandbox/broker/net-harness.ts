/** The network's part of a broker with rights that write down what they are asked, and raw servers on loopback. */
import { createServer, type Server, type Socket } from "node:net";
import type { Rights } from "../../../sandbox/broker/broker.ts";
import { createNetOperations } from "../../../sandbox/broker/net.ts";
import { NET_SETTINGS, type NetSettings } from "../../../sandbox/broker/net-connect.ts";
import type { Request } from "../../../sandbox/permissions/request.ts";
import { FakeRights, type TestBroker, testBroker } from "../../support/broker.ts";

/** `net host:port` or `address address:port`. */
export function requestText(request: Request): string {
  if (request.kind === "net") return `net ${request.host}:${request.port}`;
  if (request.kind === "net-address") return `address ${request.address}:${request.port}`;
  return request.kind;
}

export interface NetOptions extends Partial<NetSettings> {
  /** Real ones, instead of `allow`. */
  rights?: Rights;
  /** What is granted; everything by default. */
  allow?: (text: string) => boolean;
  openFiles?: number;
  /** Addresses by name. */
  names?: Record<string, readonly string[]>;
}

export class Net implements AsyncDisposable {
  /** The names that were looked up. */
  readonly resolved: string[] = [];
  readonly #test: TestBroker;
  /** What the rights wait for before they answer. */
  wait: () => Promise<void> = async () => {};

  constructor(options: NetOptions = {}) {
    const { allow = () => true, openFiles = 50, names = {}, rights: real, ...settings } = options;
    const operations = createNetOperations({
      ...NET_SETTINGS,
      resolve: async (name) => {
        this.resolved.push(name);
        const found = names[name];
        if (!found) throw Object.assign(new Error("no"), { code: "ENOTFOUND" });
        return found;
      },
      ...settings,
    });
    const rights = new FakeRights((request) => allow(requestText(request)));
    const demand = rights.demand.bind(rights);
    rights.demand = async (request) => {
      await Promise.all([demand(request), real?.demand(request), this.wait()]);
    };
    this.#test = testBroker("/", {
      rights,
      limits: { pendingCalls: 200, openFiles, maxCallBytes: 4_000_000 },
      families: { net: async () => operations },
    });
  }

  /** What the rights were asked, in order. */
  get asked(): string[] {
    return this.#test.rights.asked.map(requestText);
  }

  /** What failed in a way that was not foreseen. */
  get faults(): unknown[] {
    return this.#test.faults;
  }

  /** One call; throws what the extension would see. */
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
  call(name: string, args: unknown, bytes?: Uint8Array): Promise<{ value: any; bytes?: Uint8Array }> {
    return this.#test.call(`net.${name}`, args, bytes);
  }

  async open(url: string, options: Record<string, unknown> = {}, bytes?: Uint8Array): Promise<number> {
    const args = {
      method: "GET",
      headers: [],
      redirect: "follow",
      decompress: true,
      body: "none",
      ...options,
    };
    const { value } = await this.call("open", { url, ...args }, bytes);
    return value.id;
  }

  /** A request and its whole response. */
  async fetch(url: string, options: Record<string, unknown> = {}, bytes?: Uint8Array) {
    const id = await this.open(url, options, bytes);
    const { value } = await this.call("response", { id });
    return { ...value, id, text: value.hasBody ? await this.text(id) : "" };
  }

  async text(id: number): Promise<string> {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const { value, bytes } = await this.call("read", { id });
      if (value.end) return Buffer.concat(chunks).toString();
      chunks.push(bytes!);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#test.broker.close();
  }
}

/** A server that gets whole connections: `answer` is called with the head (and what came of the body) of each. */
export class RawServer implements AsyncDisposable {
  readonly heads: string[] = [];
  readonly sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(answer: (socket: Socket, head: string) => void) {
    this.#server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
      socket.on("error", () => {});
      let head = "";
      let isAnswered = false;
      socket.on("data", (bytes) => {
        head += bytes.toString("latin1");
        if (isAnswered || !head.includes("\r\n\r\n")) return;
        isAnswered = true;
        this.heads.push(head);
        answer(socket, head);
      });
    });
  }

  /** Answers with a text, or by a function. */
  static async start(answer: string | ((socket: Socket, head: string) => void)): Promise<RawServer> {
    const server = new RawServer(
      typeof answer === "string" ? (socket) => void socket.end(Buffer.from(answer, "latin1")) : answer,
    );
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A response with a body of known length. */
export function ok(body: string, headers: readonly string[] = []): string {
  return ["HTTP/1.1 200 OK", ...headers, `Content-Length: ${body.length}`, "", body].join("\r\n");
}

export function redirect(location: string, status = 302): string {
  return `HTTP/1.1 ${status} Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`;
}
