/** Connections that an extension was not granted: by every interface, by every spelling, by redirects and by what it writes. */
import { type Attempt, attempts } from "./harness.ts";

/** What gets something of a URL, as statements that give text. */
const CLIENTS: readonly [what: string, use: string][] = [
  ["fetch", "(await fetch(url)).text()"],
  ["fetch of a Request", "(await fetch(new Request(url))).text()"],
  ["fetch with a body", "(await fetch(url, { method: 'POST', body: 'x' })).text()"],
  [
    "http.get",
    "(async () => { const http = await load('http'); return new Promise((done, fail) => http.get(url, (r) => done('status ' + r.statusCode)).on('error', fail)); })()",
  ],
  [
    "http.request by parts",
    "(async () => { const http = await load('http'); const { hostname, port } = new URL(url); return new Promise((done, fail) => http.request({ hostname, port, path: '/' }, (r) => done('status ' + r.statusCode)).on('error', fail).end()); })()",
  ],
  [
    "https.get",
    "(async () => { const https = await load('https'); return new Promise((done, fail) => https.get(url.replace('http:', 'https:'), (r) => done('status ' + r.statusCode)).on('error', fail)); })()",
  ],
];

attempts("the network, with nothing granted", [
  ...CLIENTS.map(
    ([what, use]): Attempt => [`${what} connects to nothing`, `const { url } = target; return ${use};`],
  ),
  [
    "WebSocket and EventSource are not there",
    "return [typeof WebSocket, typeof EventSource, typeof WebTransport, typeof XMLHttpRequest, typeof RTCPeerConnection].join();",
    /^value: undefined(,undefined){4}$/,
  ],
  [
    "navigator.sendBeacon is not there",
    "return typeof navigator?.sendBeacon;",
    /^(value: undefined|error: )/,
  ],
  [
    "a refused connection tells not whether somebody listens",
    "const errors = []; for (const port of [target.port, target.port ^ 1]) try { await fetch('http://127.0.0.1:' + port); } catch (e) { errors.push(e.code ?? e.cause?.code, String(e.message).replaceAll(String(port), 'P'), String(e.cause?.message).replaceAll(String(port), 'P')); } return errors.slice(0, 3).join() === errors.slice(3).join() ? 'nothing' : errors.join(' | ');",
  ],
]);

/** Names for the loopback address, none of which `*` means. */
const LOOPBACK = [
  "127.0.0.1",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "127.0.0.1.",
  "127.1",
  "127.0.1",
  "0x7f000001",
  "0x7f.0.0.1",
  "2130706433",
  "017700000001",
  "0177.0.0.1",
  "127.0.0.1%00",
  "127.0.0.2",
  "0.0.0.0",
  "0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:7f00:1]",
  "[::127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "example.com@127.0.0.1",
  "user:pass@127.0.0.1",
  "127\u30020\u30020\u30021",
  "\uff11\uff12\uff17.0.0.1",
  "\u2460\u2461\u2466.0.0.1",
  "foo.localhost",
  "ip6-localhost",
  "loc\u00adalhost",
  "\u2112ocalhost",
];

attempts(
  "the network, with every public host granted",
  [
    ...LOOPBACK.map(
      (host): Attempt => [
        `${JSON.stringify(host)} does not reach what listens on this machine`,
        `const got = [];
       for (const make of [
         () => fetch("http://" + ${JSON.stringify(host)} + ":" + target.port + "/", { signal: AbortSignal.timeout(1500) }),
         async () => { const http = await load("http"); return new Promise((done, fail) => { const r = http.request({ hostname: ${JSON.stringify(host.replace(/^.*@/, "").replace(/[[\]]/g, ""))}, port: target.port, path: "/", timeout: 1500 }, done); r.on("error", fail); r.on("timeout", () => r.destroy(new Error("late"))); r.end(); }); },
       ]) try { await make(); got.push("connected"); } catch {}
       return got.join() || "nothing";`,
      ],
    ),
    ...[
      "169.254.169.254",
      "[fd00:ec2::254]",
      "10.0.0.1",
      "192.168.0.1",
      "172.16.0.1",
      "100.64.0.1",
      "[fe80::1]",
      "[fc00::1]",
      "metadata.google.internal",
      "224.0.0.1",
      "255.255.255.255",
    ].map(
      (host): Attempt => [
        `${host} is not connected to: it is not public`,
        `return (await fetch("http://${host}/", { signal: AbortSignal.timeout(1500) })).status;`,
      ],
    ),
    [
      "other schemes are no network",
      "const got = []; for (const url of ['file://' + target.canary, 'ftp://127.0.0.1/', 'gopher://127.0.0.1:' + target.port, 'unix:/x', 'blob:x', 'about:blank', 'javascript:1', 'ws://127.0.0.1:' + target.port, 's3://a/b']) try { got.push(url + (await (await fetch(url)).text()).slice(0, 99)); } catch {} return got.join() || 'nothing';",
    ],
  ],
  { granted: { net: ["*"] } },
);

const REDIRECTS: readonly [what: string, to: string][] = [
  ["to the address", "target.url"],
  ["to another name of it", "'http://localhost:' + target.port + '/'"],
  ["to the address in hexadecimal", "'http://0x7f000001:' + target.port + '/'"],
  ["without a scheme", "'//127.0.0.1:' + target.port + '/'"],
  [
    "with userinfo that looks like the allowed one",
    "'http://127.0.0.1:' + target.openPort + '@127.0.0.1:' + target.port + '/'",
  ],
  ["with a backslash", "'http:\\\\\\\\127.0.0.1:' + target.port + '/'"],
  ["to a file", "'file://' + target.canary"],
  ["to data", "'data:text/plain,redirected'"],
  ["with a tab in it", "'http://127.0.0.1:\\t' + target.port + '/'"],
  ["by way of itself", "'/?to=' + encodeURIComponent(target.url)"],
];

attempts(
  "the network, with one server granted",
  [
    ["the server that was granted answers", "return (await fetch(target.openUrl)).text();", /^value: open$/],
    ...REDIRECTS.flatMap(([what, to]) =>
      (what === "to the address" ? [301, 302, 303, 307, 308] : [302]).map(
        (code): Attempt => [
          `a redirect (${code}) ${what} is not followed`,
          `const got = [];
         const url = target.openUrl + "?code=${code}&to=" + encodeURIComponent(${to});
         for (const make of [() => fetch(url), () => fetch(url, { method: "POST", body: "x", redirect: "follow" })]) try { const r = await make(); got.push(r.status + await r.text()); } catch {}
         return got.filter((text) => !/^3/.test(text)).join() || "nothing";`,
        ],
      ),
    ),
    ["another port of the same host is another", "return (await fetch(target.url)).status;"],
    [
      "a name in front of the allowed address is userinfo and changes nothing",
      "return (await fetch('http://127.0.0.1:' + target.openPort + '@127.0.0.1:' + target.port)).status;",
    ],
    [
      "fetch's option for a proxy is not taken",
      "const r = await fetch(target.openUrl, { proxy: target.url }).catch(() => undefined); return r === undefined || (await r.text()) === 'open' ? 'nothing' : 'proxied';",
    ],
    [
      "fetch's option for a unix socket is not taken",
      "const r = await fetch(target.openUrl, { unix: target.folder + '/socket' }).catch(() => undefined); return r === undefined || (await r.text()) === 'open' ? 'nothing' : 'unix';",
    ],
    [
      "fetch's dispatcher and agent are not taken",
      "const seen = []; await fetch(target.openUrl, { dispatcher: { dispatch(...a) { seen.push(...a); } }, agent: { addRequest(...a) { seen.push(...a); } } }).catch(() => {}); return chase(seen);",
    ],
    [
      "http's socketPath, createConnection and lookup are not taken",
      "const http = await load('http'); const seen = []; for (const o of [{ socketPath: target.folder + '/socket' }, { createConnection(...a) { seen.push(...a); } }, { lookup: (n, o, c) => { seen.push(c); c(null, '127.0.0.1', 4); } }, { localAddress: '127.0.0.1', family: 4 }]) await new Promise((done) => { try { http.request({ host: '127.0.0.1', port: target.port, timeout: 500, ...o }, () => done()).on('error', done).on('timeout', done).end(); } catch { done(); } }); return chase(seen);",
    ],
    [
      "a Host header of one's own names no other server",
      "const http = await load('http'); await new Promise((done) => { try { http.get({ host: '127.0.0.1', port: target.openPort, headers: { host: '127.0.0.1:' + target.port } }, (r) => { r.resume(); done(); }).on('error', done); } catch { done(); } }); return 'nothing';",
    ],
    [
      "line ends in a header, a method or a path smuggle no second request",
      `
       const http = await load("http");
       const smuggled = " HTTP/1.1\\r\\nHost: a\\r\\n\\r\\nGET /smuggled";
       const got = [];
       for (const make of [
         () => fetch(target.openUrl, { headers: { a: "b\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: a" } }),
         () => fetch(target.openUrl, { method: "GET /smuggled HTTP/1.1\\r\\nHost: a\\r\\n\\r\\nGET" }),
         () => fetch(target.openUrl + smuggled),
         () => fetch(target.openUrl, { method: "POST", headers: { "transfer-encoding": "chunked", "content-length": "3" }, body: "0\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n" }),
         () => new Promise((done, fail) => http.request({ host: "127.0.0.1", port: target.openPort, path: "/" + smuggled }, done).on("error", fail).end()),
         () => new Promise((done, fail) => http.request({ host: "127.0.0.1", port: target.openPort, headers: { "a\\r\\nb": "c" } }, done).on("error", fail).end()),
         () => new Promise((done, fail) => http.request({ host: "127.0.0.1", port: target.openPort, method: "POST", headers: { "content-length": 1 } }, done).on("error", fail).end("0GET /smuggled HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")),
       ]) await Promise.race([Promise.resolve().then(make).catch(() => {}), new Promise((r) => setTimeout(r, 300))]);
       return "nothing";`,
    ],
    [
      "a CONNECT or an upgrade gives no raw connection",
      "const http = await load('http'); return new Promise((done) => { try { const r = http.request({ host: '127.0.0.1', port: target.openPort, method: 'CONNECT', path: '127.0.0.1:' + target.port, timeout: 500 }); r.on('connect', () => done('connected')); r.on('upgrade', () => done('upgraded')); r.on('error', () => done('nothing')); r.on('timeout', () => done('nothing')); r.on('response', () => done('nothing')); r.end(); } catch { done('nothing'); } });",
    ],
    [
      "http makes no server",
      "const http = await load('http'); const server = http.createServer(() => {}); server.listen(0);",
    ],
  ],
  { granted: (target) => ({ net: [`127.0.0.1:${target.openPort}`] }) },
);
