/** `node:http` and `node:https` in a worker extension, against real servers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inGuest } from "./net-guest.ts";
import { echo, Site } from "./site.ts";

const top = `import http from "node:http";
import https, { Agent as HttpsAgent } from "https";
import { get, request as httpRequest, STATUS_CODES } from "http";
const read = async (response: any) => { let all = ""; for await (const chunk of response) all += chunk; return all; };
const answer = (request: any) => new Promise<any>((resolve, reject) => request.on("response", resolve).on("error", reject));`;

describe("node:http in an extension", () => {
  test("gets a response with its headers as Node gives them", async () => {
    await using site = await Site.start((_, response) => {
      response.writeHead(201, "Fine", [
        ["Set-Cookie", "a"],
        ["Set-Cookie", "b"],
        ["X-A", "1"],
        ["X-A", "2"],
      ]);
      response.end("hällo");
    });
    const value = await inGuest(
      `const response: any = await new Promise((resolve) => get(args.url, resolve));
      response.setEncoding("utf8");
      const { statusCode, statusMessage, httpVersion, headers, rawHeaders } = response;
      const text = await read(response);
      return [statusCode, statusMessage, httpVersion, headers["set-cookie"], headers["x-a"], rawHeaders.slice(0, 2), text, response.complete,
        response instanceof http.IncomingMessage, response.constructor.name, STATUS_CODES[404]];`,
      { url: site.url },
      { top },
    );
    assert.deepEqual(value, [
      201,
      "Fine",
      "1.1",
      ["a", "b"],
      "1, 2",
      ["Set-Cookie", "a"],
      "hällo",
      true,
      true,
      "IncomingMessage",
      "Not Found",
    ]);
  });

  test("sends bodies at once, in pieces, with a length and as a pipe", async () => {
    await using site = await Site.start(echo);
    const value = await inGuest(
      `const results = [];
      const send = async (options: any, run: any) => {
        const request = httpRequest(args.url, { method: "POST", ...options });
        const response = answer(request);
        await run(request);
        const { headers, body, method } = JSON.parse(await read(await response));
        results.push([method, headers["content-length"] ?? null, headers["transfer-encoding"] ?? null, body]);
      };
      await send({}, (r: any) => r.end("all"));
      await send({}, (r: any) => { r.write("one "); r.end(); });
      await send({}, (r: any) => { r.write("one "); r.write("two "); r.end("three"); });
      await send({ headers: { "Content-Length": 6 } }, async (r: any) => { r.write("abc"); await new Promise((go) => setTimeout(go, 5)); r.end("def"); });
      await send({ method: "PUT" }, (r: any) => r.end());
      await send({ method: "delete" }, (r: any) => r.end());
      await send({ method: "GET" }, (r: any) => { r.flushHeaders(); r.end(); });
      await send({}, (r: any) => { r.flushHeaders(); r.end("x"); });
      const source = await answer(get(args.url));
      await send({}, (r: any) => source.pipe(r));
      return results;`,
      { url: site.url },
      { top },
    );
    const piped = (value as unknown[][]).pop()!;
    assert.match(piped[3] as string, /^\{"method":"GET"/);
    assert.deepEqual(value, [
      ["POST", "3", null, "all"],
      ["POST", "4", null, "one "],
      ["POST", null, "chunked", "one two three"],
      ["POST", "6", null, "abcdef"],
      ["PUT", "0", null, ""],
      ["DELETE", null, null, ""],
      ["GET", null, null, ""],
      ["POST", null, "chunked", "x"],
    ]);
  });

  test("takes a URL, options or both, with headers in each form and auth", async () => {
    await using site = await Site.start(echo);
    const value = await inGuest(
      `const { hostname, port } = new URL(args.url);
      const got = async (...given: any[]) => { const { url, headers } = JSON.parse(await read(await answer((get as any)(...given)))); return [url, headers["x-a"], headers.authorization ?? null]; };
      return [
        await got(new URL("/a?b", args.url), { headers: { "X-A": ["1", "2"] } }),
        await got({ hostname, port, path: "/c", headers: ["X-A", "1"], agent: new http.Agent({ keepAlive: true }) }),
        await got({ host: hostname, port: Number(port), auth: "u:p", headers: [["X-A", "1"]], agent: false }),
        await got(args.url.replace("http://", "http://u:p@"), { path: "/d", headers: { "x-a": 5 } }),
      ];`,
      { url: site.url },
      { top },
    );
    assert.deepEqual(value, [
      ["/a?b", "1, 2", null],
      ["/c", "1", null],
      ["/", "1", "Basic dTpw"],
      ["/d", "5", "Basic dTpw"],
    ]);
  });

  test("leaves redirects and compression to the one who asks", async () => {
    await using site = await Site.start((_, response) => {
      response.writeHead(302, { location: "/x", "content-encoding": "gzip" });
      response.end("not gzip");
    });
    const value = await inGuest(
      `const response = await answer(get(args.url));
      return [response.statusCode, response.headers.location, await read(response)];`,
      { url: site.url },
      { top },
    );
    assert.deepEqual(value, [302, "/x", "not gzip"]);
  });

  test("reports what fails as Node would, and each request closes once", async () => {
    await using site = await Site.start((request, response) => {
      if (request.url === "/cut") {
        response.writeHead(200, { "content-length": "100" });
        response.write("x", () => response.destroy());
      }
    });
    const value = await inGuest(
      `const events = async (request: any, act?: any) => {
        const seen: string[] = [];
        const closed = new Promise((resolve) => request.on("close", () => { seen.push("close"); resolve(0); }));
        request.on("error", (error: any) => seen.push("error " + error.code));
        request.on("timeout", () => { seen.push("timeout"); request.destroy(); });
        request.on("abort", () => seen.push("abort"));
        request.on("response", (response: any) => {
          response.on("aborted", () => seen.push("aborted"));
          response.on("error", (error: any) => seen.push("response error " + error.code));
          response.resume();
        });
        act?.(request);
        await closed;
        return seen;
      };
      const controller = new AbortController();
      return [
        await events(get("http://127.0.0.1:1/")),
        await events(get("http://forbidden.test/")),
        await events(get(args.url + "cut")),
        await events(get(args.url), (r: any) => r.destroy()),
        await events(get(args.url), (r: any) => r.destroy(Object.assign(new Error("x"), { code: "MINE" }))),
        await events(get(args.url), (r: any) => r.abort()),
        await events(get(args.url, { timeout: 20 } as any)),
        await events(get(args.url, { signal: controller.signal }), () => controller.abort()),
      ];`,
      { url: site.url },
      { top, allow: (host) => !host.startsWith("forbidden") },
    );
    assert.deepEqual(value, [
      ["error ECONNREFUSED", "close"],
      ["error EACCES", "close"],
      ["aborted", "response error ECONNRESET", "close"],
      ["error ECONNRESET", "close"],
      ["error MINE", "close"],
      ["abort", "error ECONNRESET", "close"],
      ["timeout", "error ECONNRESET", "close"],
      ["error ABORT_ERR", "close"],
    ]);
  });

  test("refuses what an extension can't have, and says so", async () => {
    const value = await inGuest(
      `const errors: string[] = [];
      const note = (run: any) => { try { run(); errors.push("none"); } catch (error: any) { errors.push(error.code + ": " + error.message); } };
      note(() => http.createServer());
      note(() => (https as any).createServer());
      note(() => new (http as any).Server());
      note(() => get({ socketPath: "/var/run/docker.sock" }));
      note(() => https.get("https://example.test/", { rejectUnauthorized: false }));
      note(() => get({ host: "a.test", createConnection: () => ({}) as any }));
      note(() => get("http://a.test/", { headers: { Upgrade: "websocket" } }));
      note(() => get("http://a.test/", { headers: { "X Y": "1" } }));
      note(() => get("http://a.test/", { headers: { X: "1\\r\\n2" } }));
      note(() => get({ host: "a.test", path: "/a b" }));
      note(() => get({ host: "a.test/b", path: "/" }));
      note(() => get("ftp://a.test/"));
      return errors.map((text) => text.split(":")[0]);`,
      {},
      { top },
    );
    assert.deepEqual(value, [
      ...new Array(7).fill("ERR_FEATURE_UNAVAILABLE_ON_PLATFORM"),
      "ERR_INVALID_HTTP_TOKEN",
      "ERR_INVALID_CHAR",
      "ERR_UNESCAPED_CHARACTERS",
      "ERR_INVALID_ARG_VALUE",
      "ERR_INVALID_PROTOCOL",
    ]);
  });

  test("https asks for port 443, and http for port 80", async () => {
    const asked: string[] = [];
    const allow = (host: string): boolean => {
      asked.push(host);
      return false;
    };
    await inGuest(
      `const failed = (request: any) => new Promise((resolve) => request.on("error", resolve));
      await failed(https.get("https://a.test/"));
      await failed(https.request({ host: "b.test", agent: new HttpsAgent() }).end());
      await failed(http.get({ host: "c.test" }));`,
      {},
      { top, allow },
    );
    assert.deepEqual(asked, ["a.test:443", "b.test:443", "c.test:80"]);
  });
});
