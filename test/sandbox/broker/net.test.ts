/** What extensions may connect to, and what they get told. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Net, ok, RawServer, redirect } from "./net-harness.ts";

const code = (expected: string) => (error: { code?: string }) => {
  assert.equal(error.code, expected, String(error));
  return true;
};

describe("a request of an extension", () => {
  test("gives status, headers, body and URL, and says Host and how it is framed by itself", async () => {
    await using server = await RawServer.start(ok("hello", ["Set-Cookie: a=1", "Set-Cookie: b=2", "X: y"]));
    await using net = new Net();
    const answer = await net.fetch(`${server.url}a?b#c`, {
      headers: [
        ["X-One", " 1 "],
        ["Connection", "keep-alive"],
        ["Content-Length", "99"],
        ["Transfer-Encoding", "chunked"],
        ["Upgrade", "h2c"],
        ["Proxy-Authorization", "x"],
      ],
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.statusText, "OK");
    assert.equal(answer.text, "hello");
    assert.equal(answer.url, `${server.url}a?b`);
    assert.equal(answer.redirected, false);
    assert.deepEqual(answer.headers.slice(0, 3), [
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
      ["X", "y"],
    ]);
    assert.deepEqual(server.heads, [
      `GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-One: 1\r\nConnection: close\r\n\r\n`,
    ]);
    assert.deepEqual(net.asked, [`net 127.0.0.1:${server.port}`, `address 127.0.0.1:${server.port}`]);
  });

  test("looks up nothing before its host is granted", async () => {
    await using net = new Net({ allow: () => false, names: { "example.test": ["127.0.0.1"] } });
    await assert.rejects(net.fetch("http://example.test/"), code("EACCES"));
    assert.deepEqual(net.asked, ["net example.test:80"]);
    assert.deepEqual(net.resolved, []);
  });

  test("connects to the address that was judged, with the name in Host", async () => {
    await using server = await RawServer.start(ok("x"));
    await using net = new Net({ names: { "example.test": ["127.0.0.1"] } });
    await net.fetch(`http://Example.TEST.:${server.port}/`);
    assert.match(server.heads[0]!, new RegExp(`^Host: example.test:${server.port}\r$`, "m"));
    assert.deepEqual(net.resolved, ["example.test"]);
  });

  /** What a name leads to when it leads to this machine or this network. */
  const local = [
    "127.0.0.1",
    "::1",
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "fe80::1%lo",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "224.0.0.1",
  ];
  for (const address of local) {
    test(`is refused when its granted name leads to ${address}`, async () => {
      await using server = await RawServer.start(ok("x"));
      await using net = new Net({
        allow: (text) => text.startsWith("net "),
        names: { "rebind.test": [address] },
      });
      await assert.rejects(net.fetch(`http://rebind.test:${server.port}/`), code("EACCES"));
      assert.match(net.asked[1]!, /^address /);
      assert.deepEqual(server.heads, []);
    });
  }

  test("is asked about for each address that a name leads to", async () => {
    await using net = new Net({
      allow: (text) => text !== "address 127.0.0.2:1",
      names: { "two.test": ["127.0.0.1", "127.0.0.2"] },
    });
    await assert.rejects(net.fetch("http://two.test:1/"), code("EACCES"));
    assert.deepEqual(net.asked, ["net two.test:1", "address 127.0.0.1:1", "address 127.0.0.2:1"]);
  });

  test("uses the next address when the first one does not answer", async () => {
    await using server = await RawServer.start(ok("there"));
    await using net = new Net({ names: { "two.test": ["127.0.0.9", "::1", "127.0.0.1"] } });
    assert.equal((await net.fetch(`http://two.test:${server.port}/`)).text, "there");
  });

  /** The forms in which 127.0.0.1 can be written. */
  const forms = [
    "127.1",
    "0x7f.1",
    "2130706433",
    "0177.0.0.1",
    "0x7f000001",
    "127.0.0.1.",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "１２７.０.０.１",
    "127%2e0.0.1",
  ];
  for (const form of forms) {
    test(`is judged as 127.0.0.1 when that is written as ${form}`, async () => {
      await using net = new Net({ allow: () => false });
      await assert.rejects(net.fetch(`http://${form}:81/`), code("EACCES"));
      assert.deepEqual(net.asked, ["net 127.0.0.1:81"]);
    });
  }

  test("is judged by the ASCII form of an international name, and by an IPv6 address without brackets", async () => {
    await using net = new Net({ allow: () => false });
    await assert.rejects(net.fetch("https://BÜCHER.example。/"), code("EACCES"));
    await assert.rejects(net.fetch("http://[0:0:0::1]/"), code("EACCES"));
    assert.deepEqual(net.asked, ["net xn--bcher-kva.example:443", "net ::1:80"]);
  });

  /** URLs that are none for an extension. */
  const invalid = [
    "file:///etc/passwd",
    "ftp://example.test/",
    "ws://example.test/",
    "unix:/tmp/socket",
    "http+unix://%2Ftmp%2Fsocket/",
    "http://user:pass@example.test/",
    "http://user@example.test/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://exa mple.test/",
    "http://example.test:0/",
    "http://example.test:99999/",
    "http://a%00b.test/",
    "/only/a/path",
    "http:///",
    "blob:http://example.test/x",
  ];
  for (const url of invalid) {
    test(`is not made to ${url}`, async () => {
      await using net = new Net();
      await assert.rejects(net.open(url), code("ERR_INVALID_URL"));
      assert.deepEqual(net.asked, []);
    });
  }

  /** Headers that would say something else than they seem to. */
  const smuggled: [string, string][] = [
    ["X", "a\r\nHost: other"],
    ["X", "a\nb"],
    ["X", "a\0b"],
    ["X", "a\u0100"],
    ["X\r\nY", "a"],
    ["X Y", "a"],
    ["", "a"],
    ["X:", "a"],
    ["Host", "other.test"],
    ["host", "127.0.0.1:1"],
    ["Ho\u017ft", "other.test"],
  ];
  for (const header of smuggled) {
    test(`is not made with the header ${JSON.stringify(header)}`, async () => {
      await using net = new Net();
      await assert.rejects(
        net.open("http://127.0.0.1:80/", { headers: [header] }),
        code("ERR_INVALID_HTTP_HEADER"),
      );
    });
  }

  for (const method of ["CONNECT", "TRACE", "track", "GET /x HTTP/1.1\r\nX: y", "", "A B"]) {
    test(`is not made with the method ${JSON.stringify(method)}`, async () => {
      await using net = new Net();
      await assert.rejects(net.open("http://127.0.0.1/", { method }), /method/);
    });
  }

  test("that is closed while the user is asked is over at once, whatever he says later", async () => {
    await using server = await RawServer.start(ok("x"));
    let say = (): void => {};
    await using net = new Net({ allow: () => true });
    net.wait = () =>
      new Promise((resolve) => {
        say = resolve;
      });
    const id = await net.open(server.url);
    const response = net.call("response", { id });
    await net.call("close", { id });
    await assert.rejects(response, code("ABORT_ERR"));
    say();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(net.asked, [`net 127.0.0.1:${server.port}`]);
    assert.deepEqual(server.heads, []);
  });

  test("tells what failed as Node would", async () => {
    await using net = new Net();
    const closed = await RawServer.start("");
    const { port } = closed;
    await closed[Symbol.asyncDispose]();
    await assert.rejects(net.fetch(`http://127.0.0.1:${port}/`), code("ECONNREFUSED"));
    await assert.rejects(net.fetch("http://nowhere.test/"), code("ENOTFOUND"));
    assert.deepEqual(net.faults, []);
  });

  test("uses no proxy of the environment", async () => {
    await using proxy = await RawServer.start(ok("proxied"));
    await using server = await RawServer.start(ok("direct"));
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : proxy.url;
    try {
      await using net = new Net({ names: { "example.test": ["127.0.0.1"] } });
      assert.equal((await net.fetch(`http://example.test:${server.port}/`)).text, "direct");
      assert.deepEqual(proxy.heads, []);
    } finally {
      names.forEach((name, i) => {
        if (before[i] === undefined) delete process.env[name];
        else process.env[name] = before[i];
      });
    }
  });

  test("has a connection of its own, and no more than its extension may have", async () => {
    await using server = await RawServer.start(() => {});
    await using net = new Net({ openFiles: 2 });
    const first = await net.open(server.url);
    await net.open(server.url);
    await assert.rejects(net.open(server.url), code("EMFILE"));
    assert.equal(net.asked.filter((text) => text.startsWith("net ")).length, 2);
    await net.call("close", { id: first });
    await net.open(server.url);
  });
});

describe("a redirect", () => {
  test("is followed, and asked about like a new request", async () => {
    await using target = await RawServer.start(ok("there"));
    await using first = await RawServer.start(redirect(`http://to.test:${target.port}/x`));
    await using net = new Net({ names: { "to.test": ["127.0.0.1"] } });
    const answer = await net.fetch(first.url);
    assert.equal(answer.text, "there");
    assert.equal(answer.redirected, true);
    assert.equal(answer.url, `http://to.test:${target.port}/x`);
    assert.deepEqual(net.asked.slice(2), [`net to.test:${target.port}`, `address 127.0.0.1:${target.port}`]);
  });

  test("to a place that is not granted is refused before anything of it is looked up", async () => {
    await using first = await RawServer.start(redirect("http://evil.test/"));
    await using net = new Net({
      allow: (text) => !text.includes("evil"),
      names: { "evil.test": ["127.0.0.1"] },
    });
    await assert.rejects(net.fetch(first.url), code("EACCES"));
    assert.deepEqual(net.resolved, []);
  });

  for (const location of [
    "http://localhost:PORT/",
    "http://0x7f.1:PORT/",
    "http://2130706433:PORT/",
    "//[::ffff:7f00:1]:PORT/",
  ]) {
    test(`to this machine as ${location} is refused although the first host leads there, too`, async () => {
      await using target = await RawServer.start(ok("secret"));
      await using first = await RawServer.start(redirect(location.replace("PORT", String(target.port))));
      await using net = new Net({
        allow: (text) => text.endsWith(`:${first.port}`),
        names: { "first.test": ["127.0.0.1"], localhost: ["127.0.0.1"] },
      });
      await assert.rejects(net.fetch(`http://first.test:${first.port}/`), code("EACCES"));
      assert.deepEqual(target.heads, []);
    });
  }

  test("to another origin takes no credentials along, to the same one it does", async () => {
    await using target = await RawServer.start(ok("x"));
    await using first = await RawServer.start((socket, head) => {
      const location = head.startsWith("GET /1 ") ? "/2" : `http://127.0.0.1:${target.port}/`;
      socket.end(redirect(location));
    });
    await using net = new Net();
    await net.fetch(`${first.url}1`, {
      headers: [
        ["Authorization", "Bearer s"],
        ["Cookie", "s=1"],
        ["Host", `127.0.0.1:${first.port}`],
        ["X", "1"],
      ],
    });
    assert.match(first.heads[1]!, /Authorization: Bearer s\r\nCookie: s=1\r\n/);
    assert.doesNotMatch(target.heads[0]!, /authorization|cookie/i);
    assert.match(target.heads[0]!, /^X: 1\r$/m);
  });

  test("makes a GET of a POST, and keeps method and body where it has to", async () => {
    for (const [status, method, body] of [
      [301, "GET", ""],
      [302, "GET", ""],
      [303, "GET", ""],
      [307, "POST", "data"],
      [308, "POST", "data"],
    ] as const) {
      await using target = await RawServer.start((socket, head) => {
        if (method === "GET" || head.endsWith("data")) socket.end(ok("x"));
        else socket.on("data", () => socket.end(ok("x")));
      });
      await using first = await RawServer.start(redirect(target.url, status));
      await using net = new Net();
      const options = { method: "POST", body: "bytes", headers: [["Content-Type", "text/plain"]] };
      await net.fetch(first.url, options, Buffer.from("data"));
      const [head] = target.heads;
      assert.match(head!, new RegExp(`^${method} `));
      assert.equal(/content-type/i.test(head!), body !== "", `${status}`);
    }
  });

  test("ends after 20, and with what the extension chose", async () => {
    await using server = await RawServer.start(redirect("/"));
    await using net = new Net();
    await assert.rejects(net.fetch(server.url), code("ERR_REDIRECT"));
    assert.equal(server.heads.length, 21);
    await assert.rejects(net.fetch(server.url, { redirect: "error" }), code("ERR_REDIRECT"));
    assert.equal((await net.fetch(server.url, { redirect: "manual" })).status, 302);
  });

  for (const location of [
    "file:///etc/passwd",
    "http://u:p@127.0.0.1/",
    "data:text/plain,x",
    "http://[::1",
  ]) {
    test(`to ${location} is no redirect`, async () => {
      await using server = await RawServer.start(redirect(location));
      await using net = new Net();
      await assert.rejects(net.fetch(server.url), code("ERR_INVALID_URL"));
    });
  }
});
