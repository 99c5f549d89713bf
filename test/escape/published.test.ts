/** One attempt for each published class of escape from sandboxes of this kind, in terms of this one. */
import { attempts } from "./harness.ts";

const SUPPRESSED = "caught(() => (0, eval)('{ using a = { [Symbol.dispose]() { throw 1; } }; throw 2; }'))";

attempts("published escapes: vm2", [
  [
    "CVE-2019-10761 (depth of the stack): an overflow in native code throws no error of another realm",
    "let e; const f = () => { try { new URL('a:b').toString(); structuredClone([]); f(); } catch (x) { e ??= x; } }; f(); return e instanceof RangeError || e instanceof TypeError ? chase(e) : chase(e);",
  ],
  [
    "CVE-2021-23449 (import): evaluated text imports nothing",
    "return (0, eval)('(async () => (await ' + WORD + \"('node:fs')).readFileSync(\" + JSON.stringify(target.canary) + \", 'utf8'))()\");",
  ],
  [
    "CVE-2021-23555 (prototype pollution of a handler): a polluted prototype reaches no trap of the host",
    "try { Object.prototype.get = () => 'x'; } catch {} try { Object.prototype.apply = () => 'x'; } catch {} return {}.get ?? {}.apply ?? 'nothing';",
  ],
  [
    "CVE-2022-25893 (WeakMap of the bridge): a replaced WeakMap.prototype sees nothing of the host",
    "const seen = []; try { WeakMap.prototype.set = function (k, v) { seen.push(k, v); }; } catch {} const { WeakMap: kept } = globalThis; globalThis.WeakMap = class extends kept { constructor() { super(); seen.push(this); } }; try { await load('util'); } finally { globalThis.WeakMap = kept; } return chase(seen);",
  ],
  [
    "CVE-2022-36067 (Sandbreak, prepareStackTrace of one's own Error): no call site is given",
    "globalThis.Error = class extends Error {}; globalThis.Error.prepareStackTrace = (e, sites) => sites; const stack = caught(() => null.x).stack; globalThis.Error = Object.getPrototypeOf(TypeError); return typeof stack === 'object' ? chase(stack) : 'nothing';",
  ],
  [
    "CVE-2023-29017 (prepareStackTrace in unhandled asynchronous errors): no call site is given",
    "const seen = []; for (const C of [Error, TypeError, RangeError]) try { Object.defineProperty(C, 'prepareStackTrace', { value: (e, sites) => { seen.push(e, sites); } }); } catch {} try { Error.prepareStackTrace = (e, sites) => { seen.push(e, sites); }; } catch {} setTimeout(() => { null.x; }, 0); await new Promise((r) => setTimeout(r, 5)); return chase(seen);",
  ],
  [
    "CVE-2023-29199 (source transformer, a catch that is not seen): an exception needs no transformation to be harmless",
    'try { (0, eval)("(function () { try { throw null.x } catch (e) { return e } })()"); } catch (e) { return chase(e); } return chase((0, eval)("(function () { try { null.x } catch ($tmp) { return $tmp } })()"));',
  ],
  [
    "CVE-2023-30547 (sanitisation of an exception by a proxy's getPrototypeOf): an error thrown in a trap is of this realm",
    "const p = new Proxy({}, { getPrototypeOf() { (function f() { f(); })(); } }); let seen; try { throw p; } catch (e) { seen = caught(() => Object.getPrototypeOf(e)); } return chase(seen);",
  ],
  [
    "CVE-2023-32313 (inspect written to by the guest): console runs nothing of the guest's with host values",
    "const seen = []; const o = { [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) { seen.push(depth, options, inspect); return 'x'; } }; console.log(o); (await load('util')).inspect?.(o); return chase(seen);",
  ],
  [
    "CVE-2023-32314 (a proxy as an exception, Proxy and species): a host's error seen through a proxy is of this realm",
    "const e = caught(() => { class A extends Array { constructor() { super(); return new Proxy(this, { defineProperty() { null.x; } }); } } new A(1).map((x) => x); [].concat.call(new A(), 1); }); return chase(e ?? {});",
  ],
  [
    "CVE-2023-37466 (species of promises): a handler gets no value that was not the guest's",
    "const seen = []; const p = (async () => { null.x; })(); p.constructor = { [Symbol.species]: class { constructor(run) { run((a) => seen.push(a), (b) => seen.push(b)); } } }; p.then(); await null; await null; return chase(seen);",
  ],
  [
    "CVE-2023-37903 (custom inspect with the host's inspect): no inspect function of the host is given",
    "const { inspect } = await load('util'); let seen = []; inspect({ [inspect.custom]: (d, o, i) => { seen = [o, i, o?.stylize]; } }); return chase(seen).then(async (told) => told === 'nothing' && seen[1] ? power(seen[1].constructor) : told);",
  ],
  [
    "CVE-2026-22709 (an error whose name is a symbol, in an async function): the rejection is of this realm",
    "const e = new Error('a'); e.name = Symbol(); return chase(await (async () => e.stack)().catch((x) => x) ?? {});",
  ],
  [
    "GHSA-55hx-c926-fr95 (SuppressedError of `using`): it leads to no other Error",
    `const e = ${SUPPRESSED}; const C = Object.getPrototypeOf(e.constructor); if (C !== Object.getPrototypeOf(TypeError)) return 'another Error'; return chase([e.error, e.suppressed, e.constructor]);`,
  ],
  [
    "GHSA-55hx-c926-fr95, asynchronous: `await using` leads to no other Error",
    "const e = await (0, eval)('(async () => { await using a = { [Symbol.asyncDispose]() { throw 1; } }; throw 2; })()').catch((x) => x); return Object.getPrototypeOf(e.constructor) === Object.getPrototypeOf(TypeError) || e instanceof SyntaxError ? chase(e) : 'another Error';",
  ],
  [
    "GHSA-x965-fc75-jpqh (errors within an AggregateError): none of them is of another realm",
    "const e = await Promise.any([Promise.reject(caught(() => null.x)), Promise.reject(caught(() => atob('*')))]).catch((x) => x); return chase([e, ...e.errors]);",
  ],
  [
    "GHSA-grj5-jjm8-h35p (__lookupGetter__): accessors that it gives are the compartment's",
    "const found = []; for (const o of [{}, [], Error.prototype, URL.prototype, globalThis]) for (const k of ['__proto__', 'href', 'stack', 'name', 'constructor']) found.push(Object.prototype.__lookupGetter__.call(o, k), Object.prototype.__lookupSetter__.call(o, k)); return chase(found);",
  ],
  [
    "GHSA-47x8-96vw-5wg6 (a handler's doPreventExtensions): extensions of shared intrinsics cannot be asked of a host",
    "const seen = []; const p = new Proxy(Object.preventExtensions({}), { get(t, k) { seen.push(k); return Reflect.get(t, k); }, ownKeys(t) { seen.push(t); return []; } }); try { Object.freeze(p); structuredClone(p); } catch (e) { seen.push(e); } return chase(seen);",
  ],
  [
    "GHSA-x6m4-chr9-cg97 (paths in stacks): no stack names a file of xdev",
    `return [new Error('a'), ${SUPPRESSED}, caught(() => atob('*')), caught(() => structuredClone(() => {})), await globalThis.crypto?.subtle.digest('x', new Uint8Array(1)).catch((e) => e)].some((e) => /boot|sandbox.guest|node_modules|bunfs/.test(String(e?.stack) + e?.sourceURL + e?.fileName)) ? 'a path' : 'nothing';`,
  ],
  [
    "GHSA-r273-hxvj-fxhp (util.getCallSites): no frame of the host is told",
    "const { getCallSites } = await load('util'); return getCallSites ? (/boot|node_modules/.test(JSON.stringify(getCallSites())) ? 'frames' : 'nothing') : 'nothing';",
  ],
  [
    "CVE-2026-47140 (a list of refused modules that misses some): process and inspector/promises give nothing of the host",
    "const got = []; for (const name of ['process', 'node:process', 'inspector/promises', 'node:inspector/promises', 'diagnostics_channel', 'node:test/reporters', 'node:sea', 'node:sqlite']) { const m = await load(name).catch(() => undefined); try { if (m?.Session && new m.Session()) got.push(name); } catch {} if (m?.mainModule || m?.default?.mainModule || m?.getAsset) got.push(name); } return got.join() || 'nothing';",
  ],
  [
    "GHSA-r4fx-v8hh-22mv (FinalizationRegistry callbacks outlive a limit): a callback gets nothing of the host",
    "const seen = []; if (typeof FinalizationRegistry === 'function') { const r = new FinalizationRegistry(function (held) { seen.push(this, held, ...arguments); }); for (let i = 0; i < 2000; i++) r.register({ a: new Array(100) }, 'x'); for (let i = 0; i < 200; i++) new Uint8Array(1e4); await new Promise((r) => setTimeout(r, 20)); } return chase(seen);",
  ],
  [
    "GHSA-h85j-hv3c-qfgq (the host's globalAgent): https shares no agent with the host",
    "const https = await load('https'); const agent = https.globalAgent ?? https.default?.globalAgent; if (agent) agent.options = { rejectUnauthorized: false }; return chase(agent ?? {});",
  ],
  [
    "GHSA-46pr-c5wc-xffx (crypto.setEngine): native code is not loaded",
    "const c = await load('crypto'); return c.setEngine ? c.setEngine('/lib/x.so') : 'nothing';",
  ],
]);

attempts("published escapes: isolated-vm, SES, Deno, VS Code", [
  [
    "isolated-vm CVE-2022-39266 (cachedData): no interface takes compiled code",
    "const code = (use) => { try { return typeof use(); } catch (e) { return e.code; } }; const [vm, v8] = [await load('vm'), await load('v8')]; return [code(() => new vm.Script('1', { cachedData: new Uint8Array(9) })), code(() => v8.deserialize(new Uint8Array(9))), typeof (await load('bun:jsc').catch(() => ({}))).deserialize].join();",
    /^value: ERR_FEATURE_UNAVAILABLE,ERR_FEATURE_UNAVAILABLE,undefined$/,
  ],
  [
    "isolated-vm (a Reference or Callback given to the guest): no function given by the host can be turned round",
    "return chase([update, ctx.ui.notify, load].map((f) => Reflect.ownKeys(f).map((k) => f[k])));",
  ],
  [
    "isolated-vm (transfer of what the host still uses): bytes given to a call are copied",
    "const { writeFileSync } = await load('fs'); const b = new Uint8Array(8); try { writeFileSync(target.canary, b); } catch {} structuredClone(b.buffer, { transfer: [b.buffer] }); return b.length === 0 ? 'nothing' : 'shared';",
  ],
  [
    "SES CVE-2023-39532 (dynamic import with a spread before it): `...import` is refused",
    "return (0, eval)('({ ...' + WORD + \"('node:fs') })\");",
  ],
  [
    "SES GHSA-c87h (HTML-like comments hide code): `<!--` and `-->` are refused",
    "const got = []; for (const text of ['<' + '!-- x', '\\n--' + '> x', '/* */--' + '> x']) try { (0, eval)(text); got.push(text); } catch {} return got.join() || 'nothing';",
  ],
  [
    "SES (direct eval with a rebound name): eval through a scope of one's own is the compartment's",
    "return power((0, eval)('(() => { const eval_ = eval; return (text) => eval_(text); })()'));",
  ],
  [
    "SES (scope proxies and Symbol.unscopables): the scope cannot be narrowed to the outer one",
    "try { globalThis[Symbol.unscopables] = { eval: true, Function: true, globalThis: true }; return await power((0, eval)('eval')) + typeof (0, eval)('typeof postMessage') === 'nothingstring' ? 'nothing' : 'nothing'; } finally { globalThis[Symbol.unscopables] = undefined; }",
  ],
  [
    "SES (deleting a global uncovers none below it): names that are deleted are gone",
    "const { URL: kept } = globalThis; delete globalThis.URL; const now = typeof URL; globalThis.URL = kept; return now;",
    /^value: undefined$/,
  ],
  [
    "SES (the override mistake): an own property that shadows a frozen one changes nothing shared",
    "const o = {}; o.toString = () => 'mine'; const f = () => {}; try { f.constructor = 1; } catch {} return Object.prototype.toString !== o.toString && Function.prototype.constructor !== 1 ? 'nothing' : 'shared';",
  ],
  [
    "SES (assert.error and details): no hidden annotation of the host's errors is told",
    "return typeof assert === 'undefined' && typeof globalThis.assert === 'undefined' ? 'nothing' : chase(globalThis.assert);",
  ],
  [
    "Deno CVE-2021-32619 (static imports of a dynamically imported module): what is loaded is what was bundled",
    "return load('./../guarded/canary.json');",
  ],
  [
    "Deno CVE-2022-24783 (a worker with more permissions than its parent): no worker can be made",
    "return [typeof Worker, await load('worker_threads').then((m) => { try { return typeof new m.Worker('data:text/javascript,1'); } catch (e) { return e.code; } }), typeof SharedWorker, typeof ServiceWorker].join();",
    /^value: undefined,ERR_FEATURE_UNAVAILABLE(,undefined){2}$/,
  ],
  [
    "Deno CVE-2024-21486 and /proc/self: no path through /proc leads to the process",
    "const fs = await load('fs'); for (const p of ['/proc/self/environ', '/proc/self/maps', '/proc/self/mem', '/proc/self/cmdline', '/proc/self/fd/0', '/proc/self/root' + target.canary, '/proc/self/cwd', '/dev/fd/0', '/dev/stdin', '/proc/thread-self/environ', '/proc/1/environ']) { try { return p + fs.readFileSync(p, 'utf8'); } catch {} } return 'nothing';",
  ],
  [
    "Deno CVE-2024-27931 (makeTemp with a path in its prefix): a temporary folder is where it may be",
    "const fs = await load('fs'); return fs.mkdtempSync(target.folder + '/../guarded/x');",
  ],
  [
    "Deno CVE-2024-27931, a suffix with separators: a prefix cannot climb",
    "const fs = await load('fs'); const os = await load('os'); return fs.mkdtempSync(os.tmpdir() + '/../guarded/');",
  ],
  [
    "Deno GHSA-968w-xfqw-vp9q (main of a package.json climbs): a package's main outside of it is not read",
    "const { createRequire } = await load('module'); return createRequire(target.cwd + '/x.js')('../guarded/canary.json');",
  ],
  [
    "VS Code (a forged message event): a guest makes no message that the host's listener takes",
    "return [typeof MessageEvent, typeof postMessage, typeof onmessage, typeof MessageChannel, typeof MessagePort, typeof BroadcastChannel, typeof dispatchEvent, typeof addEventListener].join();",
    /^value: undefined(,undefined){7}$/,
  ],
  [
    "VS Code web extensions (importScripts and blob workers): no script is loaded by URL",
    "return [typeof importScripts, typeof URL.createObjectURL, typeof self].join();",
    /^value: undefined(,undefined){2}$/,
  ],
  [
    "VS Code webviews (an origin of one's own): a forged origin or target on an event reaches no listener of the host",
    "const e = new Event('message'); try { Object.defineProperty(e, 'isTrusted', { value: true }); e.data = '[\"frame\",\"{}\"]'; } catch {} const t = new EventTarget(); const seen = []; t.addEventListener('message', function (x) { seen.push(this, x, x.currentTarget); }); t.dispatchEvent(e); EventTarget.prototype.dispatchEvent.call(t, e); return chase(seen);",
  ],
]);

attempts(
  "published escapes: WebAssembly (vm2 GHSA-ffh4-j6h5-pg66)",
  [
    [
      "an exception that WebAssembly catches by JSTag is of this realm",
      "return WebAssembly.JSTag ? chase(WebAssembly.JSTag) : 'nothing';",
    ],
    [
      "errors of WebAssembly lead to no other Error",
      "const e = caught(() => new WebAssembly.Module(new Uint8Array(1))); return Object.getPrototypeOf(e.constructor) === Object.getPrototypeOf(TypeError) ? chase(e) : 'another Error';",
    ],
    [
      "every error class of WebAssembly is below the compartment's Error",
      "return Object.getOwnPropertyNames(WebAssembly).filter((n) => /Error$/.test(n)).every((n) => Object.getPrototypeOf(WebAssembly[n]) === Object.getPrototypeOf(TypeError)) ? 'nothing' : 'another Error';",
    ],
    [
      "an imported function is called with nothing of the host",
      "const seen = []; const bytes = Uint8Array.from('0061736d01000000010401600000020701016101620000030201000801010a0601040010000b'.match(/../g), (x) => parseInt(x, 16)); new WebAssembly.Instance(new WebAssembly.Module(bytes), { a: { b: function () { seen.push(this, ...arguments); } } }); return seen.length > 0 ? chase(seen) : 'not called';",
    ],
    [
      "WebAssembly compiles nothing from a response of the network",
      "return [typeof WebAssembly.compileStreaming, typeof WebAssembly.instantiateStreaming].join();",
      /^value: undefined,undefined$/,
    ],
    [
      "WebAssembly switches no stacks",
      "return [typeof WebAssembly.promising, typeof WebAssembly.Suspending].join();",
      /^value: undefined,undefined$/,
    ],
    [
      "a memory of WebAssembly is zero at the start",
      "const b = new Uint8Array(new WebAssembly.Memory({ initial: 16 }).buffer); return b.every((x) => x === 0) ? 'nothing' : 'old memory';",
    ],
    [
      "memory that is shared crosses to no call",
      "const m = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }); const fs = await load('fs'); fs.writeFileSync(target.canary, new Uint8Array(m.buffer, 0, 8));",
    ],
  ],
  { granted: { wasm: ["*"] } },
);
