/** `fetch` and its classes in a worker extension, against real servers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { inGuest } from "./net-guest.ts";
import { echo, Site } from "./site.ts";

describe("fetch in an extension", () => {
  test("gets status, headers and JSON", async () => {
    await using site = await Site.start(echo);
    const value = await inGuest(
      `const response = await fetch(args.url + "a?b=1", { headers: { "X-One": "1" } });
      const { status, ok, url, redirected, type, statusText } = response;
      const got = await response.json();
      return { status, ok, url, redirected, type, statusText, got, used: response.bodyUsed,
        kind: response.headers.get("content-type"), is: response instanceof Response, name: response.constructor.name };`,
      { url: site.url },
    );
    const { got, ...rest } = value as { got: { headers: Record<string, string> } };
    assert.deepEqual(rest, {
      status: 200,
      ok: true,
      url: `${site.url}a?b=1`,
      redirected: false,
      type: "basic",
      statusText: "OK",
      used: true,
      kind: "application/json",
      is: true,
      name: "Response",
    });
    assert.equal(got.headers["x-one"], "1");
    assert.equal(got.headers["accept-encoding"], "gzip, deflate, br");
  });

  /** What can be a body, and what the server gets. */
  const bodies: [string, string, string, string | RegExp][] = [
    ["a text", `"häl"`, "häl", "text/plain;charset=UTF-8"],
    ["bytes", "new Uint8Array([104, 105])", "hi", "undefined"],
    ["an ArrayBuffer", "new Uint8Array([104, 105]).buffer", "hi", "undefined"],
    ["URLSearchParams", `new URLSearchParams({ a: "b c" })`, "a=b+c", /urlencoded/],
    ["a Blob", `new Blob(["a", new Uint8Array([98])], { type: "x/y" })`, "ab", "x/y"],
    [
      "a stream",
      `new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("one ")); c.enqueue(new TextEncoder().encode("two")); c.close(); } })`,
      "one two",
      "undefined",
    ],
    [
      "an async iterable",
      `(async function* () { yield new TextEncoder().encode("one "); yield new TextEncoder().encode("two"); })()`,
      "one two",
      "undefined",
    ],
    ["a long text", `"x".repeat(3_000_000)`, "x".repeat(3_000_000), /text/],
  ];
  for (const [name, expression, text, type] of bodies) {
    test(`sends ${name}`, async () => {
      await using site = await Site.start(async (request, response) => {
        let length = 0;
        let matches = true;
        const expected = Buffer.from(text);
        for await (const chunk of request) {
          matches &&= expected.subarray(length, length + chunk.length).equals(chunk);
          length += chunk.length;
        }
        response.end(
          JSON.stringify([matches && length === expected.length, String(request.headers["content-type"])]),
        );
      });
      const value = await inGuest(
        `const response = await fetch(args.url, { method: "post", body: ${expression}, duplex: "half" });
        return response.json();`,
        { url: site.url },
      );
      const [isSame, got] = value as [boolean, string];
      assert.equal(isSame, true);
      if (typeof type === "string") assert.equal(got, type);
      else assert.match(got, type);
    });
  }

  test("sends and reads forms with files", async () => {
    await using site = await Site.start(async (request, response) => {
      response.setHeader("content-type", request.headers["content-type"]!);
      request.pipe(response);
    });
    const value = await inGuest(
      `const form = new FormData();
      form.append("a", "1\\n2");
      form.append('q"', "x");
      form.append("f", new File(["content\\r\\n--"], "näme.txt", { type: "text/x" }));
      const response = await fetch(args.url, { method: "POST", body: form });
      const back = await response.formData();
      const file = back.get("f");
      return [back.get("a"), back.get('q"'), file.name, file.type, await file.text(), file instanceof File, [...back.keys()]];`,
      { url: site.url },
    );
    assert.deepEqual(value, ["1\r\n2", "x", "näme.txt", "text/x", "content\r\n--", true, ["a", 'q"', "f"]]);
  });

  test("reads a body as text, bytes, blob, stream, iteration and clone, and only once", async () => {
    await using site = await Site.start((_, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync("hello ".repeat(50_000)));
    });
    const value = await inGuest(
      `const get = () => fetch(args.url);
      const sizes = [];
      sizes.push((await (await get()).text()).length);
      sizes.push((await (await get()).bytes()).length);
      sizes.push((await (await get()).arrayBuffer()).byteLength);
      sizes.push((await (await get()).blob()).size);
      let size = 0;
      for await (const chunk of (await get()).body) size += chunk.length;
      sizes.push(size);
      size = 0;
      const reader = (await get()).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let r = await reader.read(); !r.done; r = await reader.read()) size += r.value.length;
      sizes.push(size);
      const one = await get();
      const two = one.clone();
      sizes.push(...(await Promise.all([one.text(), two.text()])).map((text) => text.length));
      const again = await one.text().catch((error) => error.constructor === TypeError && error.message);
      return [sizes, again];`,
      { url: site.url },
    );
    assert.deepEqual(value, [new Array(8).fill(300_000), "Body is unusable: Body has already been read"]);
  });

  test("gives a body as it comes", async () => {
    let finish = (): void => {};
    await using site = await Site.start((request, response) => {
      if (request.url === "/finish") {
        finish();
        return void response.end();
      }
      response.write("first");
      finish = () => void response.end("last");
    });
    const value = await inGuest(
      `const { body } = await fetch(args.url);
      const reader = body.getReader();
      const texts = [new TextDecoder().decode((await reader.read()).value)];
      await (await fetch(args.url + "finish")).text();
      texts.push(new TextDecoder().decode((await reader.read()).value), (await reader.read()).done);
      return texts;`,
      { url: site.url },
    );
    assert.deepEqual(value, ["first", "last", true]);
  });

  test("ends with the signal's reason: before, while it waits, and while the body comes", async () => {
    let closed = 0;
    await using site = await Site.start((request, response) => {
      response.on("close", () => void closed++);
      if (request.url === "/body") response.write("x");
    });
    const value = await inGuest(
      `const kinds = [];
      const note = (error) => kinds.push(error.name + " " + error.message);
      await fetch(args.url, { signal: AbortSignal.abort() }).catch(note);
      const waiting = new AbortController();
      const pending = fetch(args.url, { signal: waiting.signal });
      waiting.abort();
      await pending.catch(note);
      const reading = new AbortController();
      const response = await fetch(args.url + "body", { signal: reading.signal });
      const text = response.text();
      reading.abort(new RangeError("mine"));
      await text.catch(note);
      await fetch(args.url, { signal: AbortSignal.timeout(20) }).catch(note);
      return kinds;`,
      { url: site.url },
    );
    assert.deepEqual(value, [
      "AbortError This operation was aborted",
      "AbortError This operation was aborted",
      "RangeError mine",
      "TimeoutError The operation timed out",
    ]);
    assert.ok(closed >= 1);
  });

  test("follows redirects, refuses them or leaves them alone", async () => {
    await using site = await Site.start((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/there" });
      response.end(request.url);
    });
    const value = await inGuest(
      `const followed = await fetch(args.url);
      const manual = await fetch(args.url, { redirect: "manual" });
      const refused = await fetch(args.url, { redirect: "error" }).catch((error) => [error.message, error.cause.code]);
      return [await followed.text(), followed.redirected, manual.status, manual.headers.get("location"), refused];`,
      { url: site.url },
    );
    assert.deepEqual(value, ["/there", true, 302, "/there", ["fetch failed", "ERR_REDIRECT"]]);
  });

  test("fails with a TypeError whose cause says why; a refusal says it itself", async () => {
    const value = await inGuest(
      `const failures = [];
      const note = (error) => failures.push([error instanceof TypeError, error.message, error.cause?.code]);
      await fetch("http://127.0.0.1:1/").catch(note);
      await fetch("http://forbidden.test/").catch(note);
      await fetch("ftp://example.test/").catch(note);
      await fetch("/relative").catch(note);
      await fetch("http://u:p@example.test/").catch(note);
      await fetch("http://127.0.0.1:1/", { body: "x" }).catch(note);
      await fetch("http://127.0.0.1:1/", { method: "CONNECT" }).catch(note);
      await fetch("http://127.0.0.1:1/", { headers: { Host: "other" } }).catch(note);
      return failures;`,
      {},
      { allow: (host) => host === "127.0.0.1:1" },
    );
    assert.deepEqual(value, [
      [true, "fetch failed", "ECONNREFUSED"],
      [true, "fetch failed: EACCES: needs the permission net", "EACCES"],
      [true, "fetch failed", null],
      [true, "Failed to parse URL from /relative", "ERR_INVALID_URL"],
      [true, "Request cannot be constructed from a URL that includes credentials", null],
      [true, "Request with GET/HEAD method cannot have body.", null],
      [true, "'CONNECT' is not a valid HTTP method.", null],
      [true, "fetch failed", "ERR_INVALID_HTTP_HEADER"],
    ]);
  });

  test("reads data: URLs without any permission", async () => {
    const value = await inGuest(
      `const one = await fetch("data:text/x;a=b,hell%C3%B6");
      const two = await fetch("data:;base64,aGVsbG8=");
      return [one.headers.get("content-type"), await one.text(), two.headers.get("content-type"), await two.text()];`,
      {},
      { allow: () => false },
    );
    assert.deepEqual(value, ["text/x;a=b", "hellö", "text/plain;charset=US-ASCII", "hello"]);
  });
});

describe("the web's classes in an extension", () => {
  test("Headers are in lower case, sorted, validated, and keep cookies apart", async () => {
    const value = await inGuest(
      `const headers = new Headers([["B", "1"], ["a", " 2 "], ["b", "3"], ["Set-Cookie", "x"], ["set-cookie", "y"]]);
      const bad = [];
      for (const [n, v] of [["a b", "x"], ["a", "x\\ny"], ["", "x"], ["a", "\\u0100"]]) {
        try { headers.append(n, v); } catch (error) { bad.push(error instanceof TypeError); }
      }
      return [[...headers], headers.getSetCookie(), headers.has("A"), new Headers({ x: "1" }).get("X"), new Headers(headers).get("b"), bad,
        Object.fromEntries(headers), String(headers)];`,
    );
    assert.deepEqual(value, [
      [
        ["a", "2"],
        ["b", "1, 3"],
        ["set-cookie", "x"],
        ["set-cookie", "y"],
      ],
      ["x", "y"],
      true,
      "1",
      "1, 3",
      [true, true, true, true],
      { a: "2", b: "1, 3", "set-cookie": "y" },
      "[object Headers]",
    ]);
  });

  test("Request and Response can be made, cloned and read", async () => {
    const value = await inGuest(
      `const request = new Request("http://a.test/x", { method: "post", body: "b", headers: { x: "1" } });
      const copy = request.clone();
      const changed = new Request(copy, { headers: { y: "2" } });
      const json = Response.json({ a: 1 }, { status: 201 });
      const redirect = Response.redirect("http://a.test/", 307);
      const streamed = new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array([97])); c.close(); } }));
      const errors = [];
      for (const run of [() => new Response("x", { status: 204 }), () => new Response("", { status: 99 }), () => Response.redirect("x")]) {
        try { run(); } catch (error) { errors.push(error.name); }
      }
      return [request.method, await request.text(), changed.headers.get("y"), changed.headers.has("x"), await changed.text(), copy.bodyUsed,
        json.status, json.headers.get("content-type"), await json.json(), redirect.headers.get("location"), Response.error().type,
        await streamed.text(), new Response().body, errors, await new Response(new URLSearchParams("a=b")).formData().then((f) => f.get("a"))];`,
    );
    assert.deepEqual(value, [
      "POST",
      "b",
      "2",
      false,
      "b",
      true,
      201,
      "application/json",
      { a: 1 },
      "http://a.test/",
      "error",
      "a",
      null,
      ["TypeError", "RangeError", "TypeError"],
      "b",
    ]);
  });

  test("Blobs slice, stream and say their type", async () => {
    const value = await inGuest(
      `const blob = new Blob(["hello ", new Uint8Array([119]), new Blob(["orld"])], { type: "Text/Plain" });
      const part = blob.slice(-5, -1, "a/b");
      let streamed = "";
      for await (const chunk of blob.stream()) streamed += new TextDecoder().decode(chunk);
      const file = new File([blob], "f.txt", { lastModified: 5 });
      return [blob.size, blob.type, await part.text(), part.type, streamed, file.name, file.lastModified, file.size, await new Response(file).text()];`,
    );
    assert.deepEqual(value, [11, "text/plain", "worl", "a/b", "hello world", "f.txt", 5, 11, "hello world"]);
  });

  test("streams pipe, transform, tee, encode, decode and are read by the byte", async () => {
    const value = await inGuest(
      `const upper = new TransformStream({ transform: (chunk, c) => c.enqueue(chunk.toUpperCase()) });
      const source = new ReadableStream({ start(c) { c.enqueue("a\\ud83d"); c.enqueue("\\ude00b"); c.close(); } });
      const [one, two] = source.pipeThrough(upper).pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream()).tee();
      const read = async (stream) => { let all = ""; for await (const chunk of stream) all += chunk; return all; };
      const written = [];
      await ReadableStream.from(["x", "y"]).pipeTo(new WritableStream({ write(chunk) { written.push(chunk); } }));
      const bytes = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([1, 2, 3])); c.close(); } });
      const reader = bytes.getReader({ mode: "byob" });
      const first = await reader.read(new Uint8Array(2));
      return [await read(one), await read(two), written, [...first.value], typeof globalThis.ReadableStream];`,
    );
    assert.deepEqual(value, ["A😀B", "A😀B", ["x", "y"], [1, 2], "function"]);
  });

  test("compress and decompress in each format, as streams", async () => {
    const value = await inGuest(
      `const text = "hello ".repeat(40_000);
      const results = [];
      for (const format of ["gzip", "deflate", "deflate-raw"]) {
        const packed = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream(format))).bytes();
        const back = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream(format))).text();
        results.push([packed.length < 5000, back === text]);
      }
      const bad = await new Response(new Blob(["nothing"]).stream().pipeThrough(new DecompressionStream("gzip"))).text().catch((error) => error.name);
      let unknown;
      try { new CompressionStream("br"); } catch (error) { unknown = error.name; }
      return [results, bad, unknown];`,
    );
    assert.deepEqual(value, [new Array(3).fill([true, true]), "TypeError", "TypeError"]);
  });
});
