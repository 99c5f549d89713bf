/** Bodies that extensions send and get: in pieces, at their pace, and never more than a piece in memory. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { createServer as createTlsServer, type Server } from "node:tls";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { Folder } from "../../support/folder.ts";
import { Net, ok, RawServer } from "./net-harness.ts";

const code = (expected: string) => (error: { code?: string }) => {
  assert.equal(error.code, expected, String(error));
  return true;
};

const compressed = (coding: string, body: Uint8Array): ((socket: Socket) => void) => {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.end(body);
  };
};

describe("the body of a response", () => {
  /** Responses that are framed in each way that there is, and what they hold. */
  const framed: [string, string, string][] = [
    ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellothis is no part of it", "hello"],
    [
      "the same length twice",
      "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello",
      "hello",
    ],
    [
      "chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\nrest",
      "hello",
    ],
    ["its end", "HTTP/1.0 200 OK\r\n\r\nhello", "hello"],
    ["nothing", "HTTP/1.1 204 No Content\r\n\r\nhello", ""],
    ["a length of 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhello", ""],
    [
      "earlier responses",
      `HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok("hello")}`,
      "hello",
    ],
  ];
  for (const [name, response, body] of framed) {
    test(`that is framed by ${name} is given whole`, async () => {
      await using server = await RawServer.start(response);
      await using net = new Net();
      assert.equal((await net.fetch(server.url)).text, body);
    });
    test(`that is framed by ${name} is given whole when it comes byte by byte`, async () => {
      await using server = await RawServer.start(async (socket) => {
        for (const byte of Buffer.from(response)) {
          await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
        }
        socket.end();
      });
      await using net = new Net();
      assert.equal((await net.fetch(server.url)).text, body);
    });
  }

  /** Responses whose end would be a matter of opinion, or that are no HTTP. */
  const broken: [string, string][] = [
    ["has two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"],
    [
      "has a length and chunks",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "has a coding that is not known",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
    ["has a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"],
    ["has a length in hexadecimal", "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello"],
    ["has a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n"],
    ["has a chunk with a negative size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"],
    ["has a chunk that is too long", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"],
    ["has lines without CR", "HTTP/1.1 200 OK\nContent-Length: 1\n\na"],
    ["has a folded header", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n"],
    ["has a header without a colon", "HTTP/1.1 200 OK\r\nA\r\n\r\n"],
    ["has a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na"],
    ["has a NUL in a header", "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"],
    ["is another protocol", "SSH-2.0-OpenSSH_9.6\r\n\r\n"],
    ["is a later HTTP", "HTTP/2 200\r\n\r\n"],
    ["has no status", "HTTP/1.1 OK\r\n\r\n"],
    ["switches protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["has others before it without end", "HTTP/1.1 103 Early\r\n\r\n".repeat(50)],
    ["has a line without an end", `HTTP/1.1 200 ${"x".repeat(70_000)}`],
    ["has too many headers", `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(300)}\r\n`],
    ["has headers that are too long", `HTTP/1.1 200 OK\r\n${`A: ${"b".repeat(1000)}\r\n`.repeat(80)}\r\n`],
  ];
  for (const [name, response] of broken) {
    test(`is refused when the response ${name}`, async () => {
      await using server = await RawServer.start(response);
      await using net = new Net();
      await assert.rejects(net.fetch(server.url), code("EPROTO"));
      assert.deepEqual(net.faults, []);
    });
  }

  for (const [name, response] of [
    ["its length", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"],
    ["its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ["its head's end", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["anything", ""],
  ] as const) {
    test(`is an error when the connection ends before ${name}`, async () => {
      await using server = await RawServer.start(response);
      await using net = new Net();
      await assert.rejects(net.fetch(server.url), code("ECONNRESET"));
    });
  }

  const text = "hello ".repeat(1000);
  const codings: [string, Uint8Array][] = [
    ["gzip", gzipSync(text)],
    ["X-GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["br, gzip", gzipSync(brotliCompressSync(text))],
    ["identity", Buffer.from(text)],
    ["gzip", Buffer.concat([gzipSync(text.slice(0, 3000)), gzipSync(text.slice(3000))])],
  ];
  for (const [coding, bytes] of codings) {
    test(`is decompressed (${coding}, ${bytes.length} bytes)`, async () => {
      await using server = await RawServer.start(compressed(coding, bytes));
      await using net = new Net();
      assert.equal((await net.fetch(server.url)).text, text);
      const raw = await net.fetch(server.url, { decompress: false });
      assert.equal(
        raw.headers.some(([name]: string[]) => name === "Content-Encoding"),
        true,
      );
    });
  }

  test("that can't be decompressed is an error; one that is empty is not", async () => {
    await using server = await RawServer.start(compressed("gzip", Buffer.from("no gzip at all")));
    await using empty = await RawServer.start("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
    await using many = await RawServer.start(compressed("gzip, gzip, gzip", Buffer.from("x")));
    await using net = new Net();
    await assert.rejects(net.fetch(server.url), code("EPROTO"));
    assert.equal((await net.fetch(empty.url)).text, "");
    await assert.rejects(net.fetch(many.url), code("EPROTO"));
  });

  test("that is a bomb comes in pieces, and no more of it is in memory than a few", async () => {
    // 500 MB, which is 500 kB when it is compressed, and 2 kB when that is compressed again.
    const bomb = gzipSync(gzipSync(Buffer.alloc(500_000_000)));
    await using server = await RawServer.start(compressed("gzip, gzip", bomb));
    await using net = new Net();
    const id = await net.open(server.url);
    await net.call("response", { id });
    const before = process.memoryUsage().rss;
    let size = 0;
    while (size < 5_000_000) {
      const { bytes } = await net.call("read", { id });
      assert.ok(bytes!.length <= 65_536);
      size += bytes!.length;
    }
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 100_000_000, `${grown}`);
    await net.call("close", { id });
  });

  test("is not read faster than the extension asks for it", async () => {
    let sent = 0;
    let full = (): void => {};
    const isFull = new Promise<void>((resolve) => {
      full = resolve;
    });
    const block = Buffer.alloc(65_536);
    await using server = await RawServer.start((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const more = (): void => {
        while (sent < 300_000_000) {
          sent += block.length;
          if (socket.write(block)) continue;
          const stalled = setTimeout(full, 200);
          socket.once("drain", () => {
            clearTimeout(stalled);
            more();
          });
          return;
        }
        full();
      };
      more();
    });
    await using net = new Net();
    const id = await net.open(server.url);
    await net.call("response", { id });
    await isFull;
    assert.ok(sent < 100_000_000, `${sent}`);
  });

  test("ends for the server, too, when the extension closes it, and when the extension ends", async () => {
    await using server = await RawServer.start((socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nx"));
    const net = new Net();
    const closedBy = async (end: () => Promise<unknown>): Promise<void> => {
      const id = await net.open(server.url);
      await net.call("response", { id });
      const [socket] = server.sockets;
      const closed = new Promise((resolve) => socket!.on("close", resolve));
      await (end === close ? net.call("close", { id }) : end());
      await closed;
    };
    const close = async (): Promise<void> => {};
    await closedBy(close);
    await closedBy(() => net[Symbol.asyncDispose]());
  });

  test("that does not come, and one that is not read, ends after the time of silence", async () => {
    await using silent = await RawServer.start(() => {});
    await using endless = await RawServer.start((socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nx"));
    await using net = new Net({ idleMs: 50 });
    await assert.rejects(net.fetch(silent.url), code("ETIMEDOUT"));
    await assert.rejects(net.fetch(endless.url), code("ETIMEDOUT"));
    const id = await net.open(endless.url);
    await net.call("response", { id });
    const [socket] = endless.sockets;
    await new Promise((resolve) => socket!.on("close", resolve));
    await assert.rejects(net.call("read", { id }), code("EBADF"));
  });

  test("is waited for no longer when the request is closed meanwhile", async () => {
    await using silent = await RawServer.start(() => {});
    await using net = new Net();
    const id = await net.open(silent.url);
    const response = net.call("response", { id });
    await net.call("close", { id });
    await assert.rejects(response, code("ABORT_ERR"));
  });

  test("gives its pieces in order to whoever asks at the same time", async () => {
    await using server = await RawServer.start(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n",
    );
    await using net = new Net();
    const id = await net.open(server.url);
    const reads = await Promise.all([1, 2, 3].map(() => net.call("read", { id })));
    assert.deepEqual(
      reads.map(({ bytes }) => Buffer.from(bytes!).toString()),
      ["a", "b", "c"],
    );
  });
});

describe("the body of a request", () => {
  const echo = (until: string) => (socket: Socket, head: string) => {
    let all = head;
    const answer = (): void => {
      if (all.endsWith(until)) socket.end(ok(all.slice(all.indexOf("\r\n\r\n") + 4)));
    };
    socket.on("data", (bytes) => {
      all += bytes.toString("latin1");
      answer();
    });
    answer();
  };

  test("is sent with its length when it is there at once", async () => {
    await using server = await RawServer.start(echo("data"));
    await using net = new Net();
    const answer = await net.fetch(server.url, { method: "POST", body: "bytes" }, Buffer.from("data"));
    assert.equal(answer.text, "data");
    assert.match(server.heads[0]!, /^Content-Length: 4\r$/m);
  });

  test("is sent in chunks when it comes bit by bit", async () => {
    await using server = await RawServer.start(echo("0\r\n\r\n"));
    await using net = new Net();
    const id = await net.open(server.url, { method: "POST", body: "stream" });
    await net.call("write", { id }, Buffer.from("one"));
    await net.call("write", { id }, Buffer.alloc(0));
    await net.call("write", { id }, Buffer.from("two\r\n"));
    await net.call("end", { id });
    await net.call("response", { id });
    assert.equal(await net.text(id), "3\r\none\r\n5\r\ntwo\r\n\r\n0\r\n\r\n");
    assert.match(server.heads[0]!, /^Transfer-Encoding: chunked\r$/m);
  });

  test("has the length that was said, or none of what is too much is sent", async () => {
    await using server = await RawServer.start(echo("abcd"));
    await using net = new Net();
    const id = await net.open(server.url, { method: "PUT", body: "stream", length: 4 });
    await net.call("write", { id }, Buffer.from("ab"));
    await assert.rejects(net.call("end", { id }), code("ERR_HTTP_CONTENT_LENGTH_MISMATCH"));
    await net.call("write", { id }, Buffer.from("cd"));
    await assert.rejects(
      net.call("write", { id }, Buffer.from("GET / HTTP/1.1")),
      code("ERR_HTTP_CONTENT_LENGTH_MISMATCH"),
    );
    await net.call("response", { id });
    assert.equal(await net.text(id), "abcd");
  });

  test("waits until the server takes it", async () => {
    await using server = await RawServer.start((socket) => void socket.pause());
    await using net = new Net();
    const id = await net.open(server.url, { method: "POST", body: "stream" });
    let sent = 0;
    const block = Buffer.alloc(1_000_000);
    const stalled = await new Promise<boolean>((resolve) => {
      const more = async (): Promise<void> => {
        while (sent < 200_000_000) {
          const timer = setTimeout(() => resolve(true), 300);
          await net.call("write", { id }, block);
          clearTimeout(timer);
          sent += block.length;
        }
        resolve(false);
      };
      more().catch(() => resolve(true));
    });
    assert.equal(stalled, true);
    await net.call("close", { id });
  });

  test("need not be heard to its end by a server that answers earlier", async () => {
    await using server = await RawServer.start("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    await using net = new Net();
    const id = await net.open(server.url, { method: "POST", body: "stream" });
    const { value } = await net.call("response", { id });
    assert.equal(value.status, 413);
    assert.equal(await net.text(id), "no");
  });

  test("belongs to a request that has one", async () => {
    await using server = await RawServer.start(() => {});
    await using net = new Net();
    const id = await net.open(server.url);
    await assert.rejects(net.call("write", { id }, Buffer.from("x")), code("EINVAL"));
    await assert.rejects(net.call("write", { id: 999 }, Buffer.from("x")), code("EBADF"));
  });
});

describe("a protected connection", () => {
  const folder = new Folder();
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => `${folder.path}/${name}`);
  execFileSync(
    "openssl",
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${key} -out ${cert} -days 30 -subj /CN=x`
      .split(" ")
      .concat("-addext", "subjectAltName=DNS:example.test,IP:127.0.0.1"),
    { stdio: "ignore" },
  );
  const identity = { key: readFileSync(key!, "utf8"), cert: readFileSync(cert!, "utf8") };
  folder[Symbol.dispose]();

  const start = async (
    answer: (head: string, name: unknown) => string,
  ): Promise<Server & AsyncDisposable> => {
    const server = createTlsServer(identity, (socket) => {
      socket.on("error", () => {});
      socket.once("data", (head) => {
        socket.end(answer(head.toString(), (socket as unknown as { servername: unknown }).servername));
      });
    });
    server.on("tlsClientError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return Object.assign(server, {
      [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
    });
  };
  const portOf = (server: Server): number => (server.address() as { port: number }).port;

  test("checks the certificate against the name, on the address that was judged", async () => {
    await using server = await start((_, name) => ok(String(name)));
    const names = { "example.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] };
    await using net = new Net({ ca: identity.cert, names });
    assert.equal((await net.fetch(`https://example.test:${portOf(server)}/`)).text, "example.test");
    await assert.rejects(
      net.fetch(`https://other.test:${portOf(server)}/`),
      code("ERR_TLS_CERT_ALTNAME_INVALID"),
    );
  });

  test("to an address checks the certificate against that", async () => {
    await using server = await start(() => ok("x"));
    await using net = new Net({ ca: identity.cert });
    assert.equal((await net.fetch(`https://127.0.0.1:${portOf(server)}/`)).text, "x");
  });

  test("trusts no certificate that it does not know, whatever the environment says", async () => {
    await using server = await start(() => ok("x"));
    await using net = new Net({ names: { "example.test": ["127.0.0.1"] } });
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      await assert.rejects(
        net.fetch(`https://example.test:${portOf(server)}/`),
        /the certificate of example\.test was not accepted/,
      );
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("is left for an open one only to a place that was named before", async () => {
    await using open = await RawServer.start(ok("open"));
    await using server = await start(() => `HTTP/1.1 302 Found\r\nLocation: ${open.url}\r\n\r\n`);
    const names = { "example.test": ["127.0.0.1"] };
    const url = `https://example.test:${portOf(server)}/`;
    await using granted = new Net({ ca: identity.cert, names });
    assert.equal((await granted.fetch(url)).text, "open");
    await using net = new Net({
      ca: identity.cert,
      names,
      allow: (text) => text.endsWith(`:${portOf(server)}`),
    });
    await assert.rejects(net.fetch(url), /which is not encrypted/);
    assert.deepEqual(open.heads.length, 1);
  });
});
