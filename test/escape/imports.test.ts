/** Ways to load code that nobody checked. */
import { type Attempt, attempts } from "./harness.ts";

/** `$` stands for the keyword: the text itself must come past the bundler. */
const FORMS: readonly string[] = [
  "$('node:fs')",
  "$ ('node:fs')",
  "$/**/('node:fs')",
  "$\n('node:fs')",
  "$\u2028('node:fs')",
  "$\ufeff('node:fs')",
  "$//\n('node:fs')",
  "$.defer('node:fs')",
  "$ . defer('node:fs')",
  "$./**/defer('node:fs')",
  "$\n.\ndefer\n('node:fs')",
  "$.source('node:fs')",
  "$['defer']('node:fs')",
  "$?.('node:fs')",
  "$.meta",
  "$.meta.require",
  "$.meta.resolve('node:fs')",
  "$ . meta . url",
  "$('node:fs', { with: { type: 'json' } })",
  "$('data:text/javascript,export default 1')",
  "$('bun')",
  "$('bun:ffi')",
  "$('./x.json', { with: { type: 'text' } })",
  "`${$('node:fs')}`",
  "`a${`b${$('node:fs')}`}`",
  "(() => $('node:fs'))()",
  "(async () => await $.defer('node:fs'))()",
  "class { static x = $('node:fs') }",
  "class { [$('node:fs')]() {} }",
  "(a = $('node:fs')) => a",
  "[...$('node:fs')]",
  "({ ...$('node:fs') })",
  "f(...$('node:fs'))",
  "1 /$('node:fs')/ 1",
  "a = b\n/$('node:fs')/g",
  "({} / $.defer('node:fs') / 1)",
  "function* g() { yield\n/$('node:fs')/ }",
  "(x) => {} /$('node:fs')/1",
  "/*<!--*/$('node:fs')",
  "<!-- x\n$('node:fs')",
  "x\n--> y\n$('node:fs')",
  "new $('node:fs')",
  "$ defer * as x from 'node:fs'",
  "$ x from 'node:fs'",
  "$ 'node:fs'",
  "export * from 'node:fs'",
  "#!\n$('node:fs')",
];

/** Escapes of the keyword, which an engine that took them for it would run. */
const ESCAPED: readonly string[] = [
  "im\\u0070ort('node:fs')",
  "\\u0069mport('node:fs')",
  "\\u{69}mport.defer('node:fs')",
  "im\\u{000000070}ort.defer('node:fs')",
  "/=/ / im\\u0070ort.defer('node:fs') /1",
  "\uff49mport('node:fs')",
  "imp\u200bort('node:fs')",
  "imp\u200dort('node:fs')",
];

const READ = "then?.((fs) => (fs.default ?? fs).readFileSync(target.canary, 'utf8'))";

const forms: Attempt[] = [...FORMS, ...ESCAPED].map((form) => [
  `text with ${JSON.stringify(form)} is not evaluated`,
  `const text = ${JSON.stringify(form)}.replaceAll("$", WORD);
   const got = [];
   for (const evaluate of [
     () => (0, eval)(text),
     () => (0, eval)("(" + text + ")"),
     () => eval(text),
     () => Function("return " + text)(),
     () => new Function("a", text)(),
     () => Function("a = " + text, "return a")(),
     () => (0, eval)("eval(" + JSON.stringify(text) + ")"),
     () => (0, eval)("(0, eval)(" + JSON.stringify(JSON.stringify(text)) + ")") && undefined,
   ]) {
     try { const value = evaluate(); if (value !== undefined && typeof value !== "string") got.push(await value?.${READ} ?? "OUTSIDE: " + typeof value); } catch {}
   }
   return got.join() || "nothing";`,
]);

attempts("dynamic import in text that is evaluated", [
  ...forms,
  [
    "a text that only becomes an import by joining is checked when it is evaluated",
    "return (0, eval)(['imp', 'ort'].join('') + \"('node:fs')\");",
  ],
  [
    "a String object is not evaluated as text",
    "const text = new String(WORD + '(1)'); return (0, eval)(text) === text ? 'nothing' : 'evaluated';",
  ],
  [
    "an object whose text changes between check and evaluation is read once",
    "let n = 0; const body = { toString() { return n++ ? 'return ' + WORD + \".defer('node:fs')\" : 'return 1'; } }; return Function(body)() === 1 && n === 1 ? 'nothing' : 'read twice';",
  ],
  [
    "a parameter whose text changes is read once",
    "let n = 0; const a = { toString() { return n++ ? 'a = ' + WORD + \".defer('node:fs')\" : 'a'; } }; return typeof Function(a, 'return a')() === 'undefined' ? 'nothing' : 'read twice';",
  ],
  [
    "the check cannot be replaced by a prototype that it uses",
    "try { String.prototype.indexOf = () => -1; } catch {} try { Set.prototype.has = () => true; } catch {} const { String: S, Set: T } = globalThis; globalThis.String = class {}; globalThis.Set = class { has() { return true; } }; try { return (0, eval)(WORD + \"('node:fs')\"); } finally { globalThis.String = S; globalThis.Set = T; }",
  ],
  [
    "the check cannot be made to think that a text is one of the host's own",
    "const seen = new Set(['x']); try { Object.defineProperty(Set.prototype, 'has', { value: () => true }); } catch {} return (0, eval)(WORD + \".defer('node:fs')\");",
  ],
  [
    "no depth of the stack leaves the engine's eval behind",
    `
     let outside = "nothing", refused = 0;
     const probe = () => {
       let value; try { value = eval("typeof evalScope + (function () { return typeof this; })()"); } catch { refused++; return; }
       if (value !== "undefinedundefined") outside = "OUTSIDE: " + value;
     };
     let left = 3000;
     const fall = () => { try { fall(); } catch {} if (left-- > 0) probe(); };
     for (let i = 0; i < 3; i++) { left = 3000; fall(); }
     probe();
     try { const leaked = (0, eval)(WORD + ".defer('node:fs')"); if (leaked) outside = "OUTSIDE: after the fall"; } catch {}
     return refused > 0 ? outside : "never too deep";`,
  ],
  [
    "no depth of the stack makes one call's answer another's, by which a text would seem to be the host's",
    `const fs = await load("fs");
     const at = target.dataDir + "/storage/attacker/f";
     for (let i = 0; i < 8; i++) fs.writeFileSync(at + i, "content" + i);
     const wrong = [];
     let n = 0, left = 0;
     const probe = () => { const i = n++ % 8; let text; try { text = fs.readFileSync(at + i, "utf8"); } catch { return; } if (text !== "content" + i) wrong.push(text); };
     const fall = (a, b) => { try { fall(b, a); } catch {} if (left-- > 0) probe(); };
     left = 1500; fall(1, 2);
     for (let i = 0; i < 8; i++) probe();
     return wrong.join() || "nothing";`,
  ],
  [
    "a source that is too deep to check is not evaluated",
    "return (0, eval)('('.repeat(6000) + WORD + '(1)' + ')'.repeat(6000));",
  ],
  [
    "a source of 2 MB is checked to its end",
    "return (0, eval)(' '.repeat(2e6) + WORD + \".defer('node:fs')\");",
  ],
  ["a timer evaluates no text", "setTimeout(WORD + \"('node:fs')\", 0);"],
  ["an interval evaluates no text", "setInterval(WORD + \"('node:fs')\", 0);"],
  ["an immediate evaluates no text", "setImmediate(WORD + \"('node:fs')\");"],
  [
    "the constructors behind async functions evaluate nothing",
    "return (async () => {}).constructor('return ' + WORD + \"('node:fs')\")();",
  ],
  ["a URL cannot be made to hold code", "return URL.createObjectURL ? 'there is one' : 'nothing';"],
  ["WebAssembly is not there without its permission", "return typeof WebAssembly;", /^value: undefined$/],
]);

const MODULES = [
  "bun",
  "bun:ffi",
  "bun:jsc",
  "bun:sqlite",
  "node:vm",
  "vm",
  "worker_threads",
  "inspector",
  "inspector/promises",
  "cluster",
  "repl",
  "v8",
  "node:sqlite",
  "node:net",
  "tls",
  "dgram",
  "dns",
  "http2",
  "trace_events",
  "wasi",
  "node:test",
  "sys",
  "xdev:system",
  "api",
  "web:fetch",
  "module",
  "guest:fs",
  "../../../sandbox/guest/boot.ts",
  "/etc/passwd",
  "file:///etc/passwd",
  "data:text/javascript,1",
  "__proto__",
  "constructor",
  "toString",
];

attempts("modules that are not an extension's", [
  ...MODULES.map(
    (name): Attempt => [
      `the module ${name} gives nothing outside`,
      `const module = await load(${JSON.stringify(name)}).catch((e) => e);
     if (module instanceof Error) throw module;
     const told = await chase(module);
     if (told !== "nothing") return told;
     const does = (use) => { try { return use() !== undefined; } catch { return false; } };
     for (const name of ["runInThisContext", "Worker", "Session", "callSync", "dlopen", "Database", "DatabaseSync", "start"]) if (name in module && (does(() => new module[name]("1")) || does(() => module[name]("1")))) return name + " does something";
     return "nothing";`,
    ],
  ),
  ...["net", "tls", "http2", "dgram", "dns", "dns/promises"].map(
    (name): Attempt => [
      `${name} connects to nothing and looks nothing up, whatever of it is there`,
      `const m = await load(${JSON.stringify(name)}).catch(() => ({}));
       const got = [];
       for (const use of [
         () => m.connect({ host: "127.0.0.1", port: target.port }),
         () => m.createConnection(target.port, "127.0.0.1"),
         () => m.connect(target.url),
         () => new m.Socket().connect(target.port, "127.0.0.1"),
         () => m.createServer(() => {}).listen(0),
         () => { const s = m.createSocket("udp4"); s.send("x", target.port, "127.0.0.1"); return s; },
       ]) await new Promise((done) => { try { const s = use(); s.on?.("error", done); s.on?.("connect", () => { got.push("connected"); done(); }); s.on?.("listening", () => { got.push("listening"); done(); }); setTimeout(done, 50); } catch { done(); } });
       for (const use of [() => new Promise((done) => m.lookup("localhost", (e, a) => done(e ? undefined : a))), () => m.lookup("localhost"), () => m.resolve("localhost")]) try { const a = await Promise.race([use(), new Promise((r) => setTimeout(r, 50))]); if (a) got.push(JSON.stringify(a)); } catch {}
       return got.join() || "nothing";`,
    ],
  ),
  [
    "process.binding and dlopen give nothing",
    "const p = (await load('process')).default ?? process; return chase([p.mainModule, caught(() => p.binding('fs')), caught(() => p._linkedBinding('fs')), caught(() => p.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'))]).then((told) => { try { p.binding('fs'); return 'a binding'; } catch {} try { p.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6'); return 'a library'; } catch {} return told; });",
  ],
  [
    "getBuiltinModule, if there is one, gives no other modules than a load",
    "const get = process.getBuiltinModule; return get ? chase(get('node:vm') ?? get('vm')) : 'nothing';",
  ],
  [
    "createRequire reaches no file outside the bundle",
    "const { createRequire } = await load('module'); return createRequire(target.canary)('./canary.json');",
  ],
  [
    "require.cache and module internals are not there",
    "const m = await load('module').catch(() => ({})); return [typeof m._load, typeof m._resolveFilename, typeof m._extensions, typeof m.register].join();",
    /^value: undefined(,undefined){3}$/,
  ],
  [
    "a load's specifier is read once",
    "let n = 0; const s = { toString() { return n++ ? 'xdev:system' : 'path'; } }; const m = await load(s); return 'callSync' in m || m.default?.callSync ? 'there is callSync' : 'nothing';",
  ],
]);
