/** Ways through what the language calls by itself: promises, iterators, proxies, getters, species, conversions. */
import { attempts } from "./harness.ts";

attempts("promises and thenables", [
  [
    "a thenable's resolve function leads nowhere",
    "return chase(await new Promise((done) => { ({ then: 1 }); Promise.resolve({ then(resolve, reject) { done([resolve, reject, this]); } }); }));",
  ],
  [
    "a thenable as a tool's result is called with no host function",
    "let seen; const result = { then(resolve) { seen = [resolve, this, ...arguments]; resolve('x'); } }; await result; return chase(seen);",
  ],
  [
    "a thenable given to the host's API leads nowhere",
    "let seen = []; try { await ctx.ui.confirm({ then(r) { seen.push(r); r('x'); } }); } catch {} return chase(seen);",
  ],
  [
    "the promise of a native async function has the compartment's constructor",
    "const p = globalThis.crypto?.subtle?.digest('SHA-256', new Uint8Array(1)) ?? Promise.resolve(); return p.constructor === Promise ? chase([p, p.then, p.finally]) : 'another Promise';",
  ],
  [
    "Symbol.species of Promise cannot be changed",
    "Object.defineProperty(Promise, Symbol.species, { value: class extends Promise {} });",
    /^error: /,
  ],
  [
    "a subclass of Promise sees no host value in its executor",
    "const seen = []; class P extends Promise { constructor(run) { super((a, b) => { seen.push(a, b, run); run(a, b); }); } } await P.resolve(1).then(() => 2); await (async () => P.resolve(3))(); return chase(seen);",
  ],
  [
    "an own constructor on a promise gets no host function",
    "const seen = []; const p = Promise.resolve(1); Object.defineProperty(p, 'constructor', { value: { [Symbol.species]: function (run) { seen.push(run, this); run((a) => seen.push(a), (b) => seen.push(b)); } } }); p.then(() => 1); await null; return chase(seen);",
  ],
  [
    "an own then on an async function's promise sees no host value",
    "const p = (async () => 1)(); const seen = []; Object.defineProperty(p, 'then', { value(a, b) { seen.push(a, b, this); a?.(1); } }); await p; return chase(seen);",
  ],
  [
    "Promise.prototype.then cannot be replaced to watch the host's own",
    "Promise.prototype.then = function () { throw 1; };",
    /^error: /,
  ],
  [
    "a rejection that nobody can read ends nothing but its own extension",
    "Promise.reject(new Proxy({}, { get(t, k) { throw new Error(String(k)); } })); await new Promise((r) => setTimeout(r, 5)); return 'nothing';",
    /^(value: nothing$|denied: )/,
  ],
  [
    "a rejection with a hostile toString runs with nothing of the host",
    "const seen = []; Promise.reject({ toString() { seen.push(this, ...arguments); return 'x'; } }); await new Promise((r) => setTimeout(r, 5)); return chase(seen);",
    /^(value: nothing$|denied: )/,
  ],
  [
    "Promise.any's error leads nowhere",
    "return chase(await Promise.any([Promise.reject(1)]).catch((e) => e));",
  ],
  [
    "allSettled with a class of one's own gets no host function",
    "const seen = []; const C = function (run) { run((a) => seen.push(a), (b) => seen.push(b)); }; C.resolve = (x) => ({ then(a, b) { seen.push(a, b); a(x); } }); Promise.allSettled.call(C, [1]); return chase(seen);",
  ],
]);

attempts("generators and iterators", [
  [
    "an async generator's return awaits a thenable without a host function",
    "const seen = []; const g = (async function* () {})(); await g.return({ then(resolve) { seen.push(resolve, this, ...arguments); resolve(1); } }); return chase(seen);",
  ],
  [
    "an async generator's throw leads nowhere",
    "const g = (async function* () { try { yield 1; } catch (e) { yield e; } })(); await g.next(); return chase(await g.throw(new Error('x')));",
  ],
  [
    "yield* over a hostile async iterator sees no host value",
    "const seen = []; const it = { [Symbol.asyncIterator]() { return this; }, get next() { return function () { seen.push(this, ...arguments); return { done: true, get value() { return seen; } }; }; } }; for await (const x of (async function* () { yield* it; })()) {} return chase(seen);",
  ],
  [
    "the prototypes of generators lead nowhere",
    "const g = Object.getPrototypeOf(async function* () {}); return chase([g, g.prototype, Object.getPrototypeOf(g.prototype), g.constructor]).then(async (a) => a === 'nothing' ? power(g.constructor) : a);",
  ],
  [
    "the prototypes of generators cannot be changed",
    "Object.getPrototypeOf(function* () {}).prototype.next = () => 1;",
    /^error: /,
  ],
  [
    "the iterator of an array cannot be replaced for the host",
    "Array.prototype[Symbol.iterator] = function* () {}; return caught(() => { Object.defineProperty(Array.prototype, Symbol.iterator, { value: 1 }); }) ? 'nothing' : 'replaced';",
  ],
  [
    "%ArrayIteratorPrototype%.next cannot be replaced",
    "Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true });",
    /^error: /,
  ],
  [
    "the iterator of a string cannot be replaced",
    "Object.getPrototypeOf(''[Symbol.iterator]()).next = () => 1;",
    /^error: /,
  ],
  [
    "the iterator of a Map cannot be replaced",
    "Object.getPrototypeOf(new Map().entries()).next = () => 1;",
    /^error: /,
  ],
  [
    "the iterator of URL parameters cannot be replaced",
    "Object.getPrototypeOf(new URLSearchParams('a=b').entries()).next = () => 1;",
    /^error: /,
  ],
  [
    "an iterator given to a native function is called with nothing of the host",
    "const seen = []; const it = { [Symbol.iterator]() { seen.push(this, ...arguments); return { next() { seen.push(this, ...arguments); return { done: true }; }, return() { seen.push(this); return {}; } }; } }; new URLSearchParams(it); new Map(it); Array.from(it); try { structuredClone(1, { transfer: it }); } catch {} return chase(seen);",
  ],
  [
    "Iterator helpers lead nowhere",
    "return typeof Iterator === 'function' ? chase([[1].values().map((x) => x), Iterator.from({ next() {} })]) : 'nothing';",
  ],
  [
    "Array.fromAsync's constructor sees no host value",
    "const seen = []; const C = function () { seen.push(this, ...arguments); return []; }; await Array.fromAsync?.call(C, [1]); return chase(seen);",
  ],
]);

attempts("proxies", [
  [
    "a proxy as a tool's result meets no trap with a host value",
    "const seen = []; globalThis.kept = seen; const p = new Proxy({}, new Proxy({}, { get: (t, trap) => (...args) => { seen.push(...args); return Reflect[trap](...args); } })); try { structuredClone(p); } catch {} try { new URL(p); } catch {} try { setTimeout(p); } catch {} try { console.log(p); } catch {} try { ctx.ui.notify(p); } catch {} return chase(seen);",
  ],
  [
    "a proxy of a function as a timer is called with nothing of the host",
    "return chase(await new Promise((resolve) => setTimeout(new Proxy(() => {}, { apply(t, self, args) { resolve([t, self, args]); } }), 0)));",
  ],
  [
    "a proxy as receiver of a native getter is refused",
    "return Object.getOwnPropertyDescriptor(URL.prototype, 'href').get.call(new Proxy(new URL('a:b'), {}));",
  ],
  [
    "a proxy of bytes does not cross as bytes",
    "const { readFileSync, writeFileSync } = await load('fs'); writeFileSync(target.canary, new Proxy(new Uint8Array(4), {}));",
  ],
  [
    "a revoked proxy thrown at the host is only a report",
    "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); setTimeout(() => { throw proxy; }, 0); await new Promise((r) => setTimeout(r, 5)); return 'nothing';",
  ],
  [
    "a thrown proxy's traps see no host value",
    "const seen = []; setTimeout(() => { throw new Proxy({}, { get(t, k, r) { seen.push(t, r); return undefined; }, getPrototypeOf(t) { seen.push(t); return null; } }); }, 0); await new Promise((r) => setTimeout(r, 5)); return chase(seen);",
  ],
  [
    "a proxy as the new.target of a native class gives no host prototype",
    "const made = Reflect.construct(URL, ['a:b'], new Proxy(class {}, { get(t, k, r) { return k === 'prototype' ? null : Reflect.get(t, k, r); } })); return chase([made, Object.getPrototypeOf(made)]);",
  ],
  [
    "a proxy in the prototype chain of the global object is impossible",
    "Object.setPrototypeOf(globalThis, new Proxy({}, { has() { return true; } })); return typeof evalScope;",
    /^(error: |value: undefined)/,
  ],
  [
    "a proxy's handler on a class's heritage sees no host value",
    "const seen = []; const Base = new Proxy(class {}, { construct(t, args, nt) { seen.push(args, nt); return {}; }, get(t, k, r) { seen.push(r); return Reflect.get(t, k, r); } }); new (class extends Base {})(); return chase(seen);",
  ],
]);

attempts("species, toJSON and conversions", [
  [
    "Symbol.species of arrays cannot be changed",
    "Object.defineProperty(Array, Symbol.species, { value: function () {} });",
    /^error: /,
  ],
  [
    "a species of one's own gets no host array",
    "const seen = []; class A extends Array { static get [Symbol.species]() { return function (n) { seen.push(this, n); return []; }; } } new A(1, 2).map((x) => x); return chase(seen);",
  ],
  [
    "a species of bytes cannot make a native method write into a wrong length",
    "class B extends Uint8Array { static get [Symbol.species]() { return function () { return new Uint8Array(1); }; } } return new B(64).map((x) => 1);",
  ],
  [
    "a species of ArrayBuffer cannot give one's own buffer for another's",
    "const b = new ArrayBuffer(8); b.constructor = { [Symbol.species]: function () { return b; } }; return b.slice(0, 4);",
    /^(error: |value: )/,
  ],
  [
    "toJSON of what is sent is called with keys alone",
    "const seen = []; const value = { toJSON(...args) { seen.push(this, ...args); return 'x'; } }; console.log(value); update({ content: [], details: value }); return chase(seen);",
  ],
  ["toJSON on a shared prototype is impossible", "Object.prototype.toJSON = () => 'forged';", /^error: /],
  ["toJSON on String.prototype is impossible", "String.prototype.toJSON = () => 'forged';", /^error: /],
  [
    "toString of a thing made text by the host's wrappers sees no host value",
    "const seen = []; const value = { toString() { seen.push(this, ...arguments); return 'x'; }, [Symbol.toPrimitive]() { seen.push(this, ...arguments); return 'x'; } }; atob(value); new URL(value, 'a:b'); new TextEncoder().encode(value); try { setTimeout(() => 1, value); } catch {} clearTimeout(value); return chase(seen);",
  ],
  [
    "a number made of an object by a timer sees no host value",
    "const seen = []; setTimeout(() => 1, { valueOf() { seen.push(this, ...arguments); return 0; } }); return chase(seen);",
  ],
  [
    "Symbol.hasInstance is asked by nothing of the host",
    "const seen = []; class C { static [Symbol.hasInstance](x) { seen.push(x, this); return true; } } globalThis.Error = C; try { console.log(new C()); await new Promise((r) => setTimeout(r, 0)); } finally { globalThis.Error = Object.getPrototypeOf(TypeError); } return chase(seen);",
  ],
  [
    "Symbol.toStringTag fools nobody",
    "const fake = { [Symbol.toStringTag]: 'Uint8Array', length: 4, buffer: {} }; const { writeFileSync } = await load('fs'); writeFileSync(target.canary, fake);",
  ],
  [
    "Symbol.isConcatSpreadable on shared prototypes is impossible",
    "Array.prototype[Symbol.isConcatSpreadable] = false;",
    /^error: /,
  ],
  [
    "a regular expression's exec of one's own sees no host string",
    "const seen = []; const r = /a/; r.exec = function (text) { seen.push(this, text); return null; }; 'abc'.replace(r, ''); 'abc'.match(r); return chase(seen);",
  ],
  [
    "RegExp's legacy statics tell no string of the host's",
    "return [RegExp.$1, RegExp.input, RegExp.lastMatch, RegExp['$_'], RegExp.leftContext].every((x) => x === undefined) ? 'nothing' : [RegExp.input, RegExp.lastMatch].join();",
  ],
  [
    "a getter on data that goes to the host is called in the guest, with the guest's this",
    "const seen = []; const data = { get text() { seen.push(this); return 'x'; } }; structuredClone(data); update({ content: [], details: data }); return chase(seen);",
  ],
  [
    "a getter that changes its answer cannot pass bytes of another length",
    "let n = 0; const { writeFileSync } = await load('fs'); writeFileSync(target.canary, { get length() { return n++ ? 1e9 : 1; }, 0: 1 });",
  ],
  [
    "an object that says by the runtime's own symbol what it is gets no copy of that kind",
    `const symbols = new Set();
     for (const one of [caught(() => atob("*")), await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]), await crypto.subtle.digest("x", new Uint8Array(1)).catch((e) => e)])
       for (let o = one; o; o = Object.getPrototypeOf(o)) for (const s of Object.getOwnPropertySymbols(o)) symbols.add(s);
     const got = [];
     for (const s of symbols) for (const type of ["Blob", "File", "MessagePort", "CryptoKey", "DOMException", "URL", "ImageData", "KeyObject", "ReadableStream", "FileHandle"])
       for (const value of [{ [s]: () => ({ type, id: 1, rid: 1, data: {}, name: "a", message: "b" }) }, { [s]: { type } }, Object.assign(() => {}, { [s]: () => ({ type }) })])
         try { got.push(await chase(Object.getPrototypeOf(structuredClone(value)))); got.push(structuredClone(value).constructor === Object ? "nothing" : "OUTSIDE: " + type); } catch {}
     return got.find((one) => one !== "nothing") ?? "nothing";`,
  ],
  [
    "structuredClone of one's own class gives a plain object",
    "class A { #x = 1; get y() { return 1; } } return chase(structuredClone(new A()));",
  ],
  [
    "structuredClone of an error makes no error of another realm",
    "const e = structuredClone(new TypeError('a')); return e instanceof TypeError && e.constructor === TypeError ? chase(e) : 'another realm';",
  ],
  [
    "structuredClone of an engine's error tells no frames",
    "const e = structuredClone(caught(() => null.x)); return /boot|node_modules/.test(String(e.stack)) ? e.stack : chase(e);",
  ],
  ["structuredClone copies no function and no symbol", "return structuredClone({ f: pi.registerTool });"],
  ["structuredClone of the API copies no host object", "return structuredClone(ctx);"],
  [
    "structuredClone's transfer list takes buffers alone",
    "structuredClone(1, { transfer: [pi, {}, new URL('a:b')] });",
  ],
]);
