import { createServer, type RequestListener } from "node:http";

/** A real server on loopback. */
export class Site implements AsyncDisposable {
  readonly #server;

  private constructor(listener: RequestListener) {
    this.#server = createServer(listener);
  }

  static async start(listener: RequestListener): Promise<Site> {
    const site = new Site(listener);
    await new Promise<void>((resolve) => site.#server.listen(0, "127.0.0.1", resolve));
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Answers with what it got, as JSON. */
export const echo: RequestListener = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  response.setHeader("content-type", "application/json");
  const { method, url, headers } = request;
  response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
};
