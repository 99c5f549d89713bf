/** Ways from an object that a guest has to the realm that the worker started with. */
import { type Attempt, attempts } from "./harness.ts";

/** Expressions whose constructor's constructor must make no function of text that runs outside. */
const CONSTRUCTORS: readonly [what: string, expression: string][] = [
  ["a plain object", "{}"],
  ["a function", "function () {}"],
  ["an async function", "async () => {}"],
  ["a generator function", "function* () {}"],
  ["an async generator function", "async function* () {}"],
  ["a bound function", "(function () {}).bind(null)"],
  ["a class", "class A extends Object {}"],
  ["a timer", "setTimeout"],
  ["a native method", "new URL('a:b').toString"],
  ["a native getter", "Object.getOwnPropertyDescriptor(URL.prototype, 'href').get"],
  ["console", "console.log"],
  ["the API", "pi.registerTool"],
  ["the context", "ctx.ui.notify"],
  ["the update function", "update"],
  ["the abort signal", "signal"],
  ["process", "globalThis.process.exit"],
  ["a module's function", "(await load('path')).join"],
  ["the loader", "load"],
  ["a WeakRef", "typeof WeakRef === 'function' ? WeakRef : {}"],
  ["Intl", "typeof Intl === 'object' ? Intl.NumberFormat : {}"],
  ["Temporal", "typeof Temporal === 'object' ? Temporal.Instant : {}"],
  ["a symbol's wrapper", "Object(Symbol.iterator)"],
  ["a proxy's revoker", "Proxy.revocable({}, {}).revoke"],
  ["promise resolvers", "Promise.withResolvers().resolve"],
];

const ERRORS: readonly [what: string, expression: string][] = [
  ["null", "null.x"],
  ["a call of a number", "(1)()"],
  ["a missing name", "notThere()"],
  ["a too long string", "'x'.repeat(-1)"],
  ["bad JSON", "JSON.parse('{')"],
  ["bad syntax", "(0, eval)('}')"],
  ["a bad regular expression", "new RegExp('(')"],
  ["a refused source", "(0, eval)(WORD + '(1)')"],
  ["a timer without a function", "setTimeout('x')"],
  ["a frozen prototype", "Object.defineProperty(Object.prototype, 'x', { value: 1 })"],
  ["atob", "atob('*')"],
  ["a clone of a function", "structuredClone(() => {})"],
  ["a bad URL", "new URL('x')"],
  ["URL without new", "URL('a:b')"],
  ["a method of URL on nothing", "URL.prototype.toJSON.call({})"],
  ["a bad encoding", "new TextDecoder('nothing')"],
  ["bad text", "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))"],
  ["bad parameters", "new URLSearchParams([1])"],
  ["depth", "(function f() { f(); })()"],
  ["a proxy's invariant", "Reflect.ownKeys(new Proxy({}, { ownKeys: () => 1 }))"],
  [
    "a detached buffer",
    "{ const b = new ArrayBuffer(8); structuredClone(b, { transfer: [b] }); new Uint8Array(b, 0, 1); }",
  ],
  ["a symbol as text", "`${Symbol()}`"],
  ["registering a tool that is none", "pi.registerTool({ name: 'late' })"],
  ["a missing module", "(await load('xdev:system'))"],
];

const constructors: Attempt[] = CONSTRUCTORS.map(([what, expression]) => [
  `the constructors behind ${what} make no function outside the compartment`,
  `const value = ${expression.startsWith("{}") ? "({})" : `(${expression})`};
   return chase(value).then(async (first) => first === "nothing" ? power(value.constructor.constructor) : first);`,
]);

const errors: Attempt[] = ERRORS.map(([what, statement]) => [
  `the error of ${what} leads to no start-realm object`,
  `try { ${statement}; } catch (error) {
     const told = await chase(error);
     return told === "nothing" ? chase(Object.getPrototypeOf(error.constructor)) : told;
   }
   return "it did not throw";`,
]);

attempts("constructors and prototypes", [
  ...constructors,
  [
    "__proto__ climbs no higher than the compartment's intrinsics",
    "return chase([].__proto__.__proto__.__lookupGetter__('__proto__'));",
  ],
  [
    "__defineGetter__ on a shared prototype is refused",
    "Array.prototype.__defineGetter__('x', () => 1);",
    /^error: /,
  ],
  [
    "the prototype of the global object leads nowhere",
    "let p = globalThis; const all = []; while (p) { all.push(p); p = Object.getPrototypeOf(p); } return chase(all);",
  ],
  [
    "this of a plain call is undefined",
    "return (function () { return typeof this; })();",
    /^value: undefined$/,
  ],
  [
    "this of a callback is never a realm's global",
    "const seen = []; [1].forEach(function () { seen.push(this); }); [2, 1].sort(function () { seen.push(this); return 0; }); 'a'.replace(/a/, function () { seen.push(this); }); JSON.parse('[1]', function (k, v) { if (Array.isArray(this)) seen.push(undefined); return v; }); return chase(seen);",
  ],
  [
    "this of a timer is no host object",
    "return chase(await new Promise((resolve) => setTimeout(function () { resolve([this, ...arguments]); }, 0)));",
  ],
  [
    "this of a microtask is no host object",
    "return chase(await new Promise((resolve) => queueMicrotask(function () { resolve([this, ...arguments]); })));",
  ],
  ["a function's caller is not told", "function f() { return f.caller; } return chase(f());"],
  ["arguments.callee is not told", "return chase((function () { return arguments.callee; })());"],
  [
    "the caller of a getter that the host reads is not told",
    "return new Promise((resolve) => setTimeout(function f() { resolve(chase([f.caller, f.arguments])); }, 0));",
  ],
  ["with is no way out of strict code", "return (0, eval)('with ({}) { this }');"],
  [
    "sloppy code cannot be made of text",
    "return (0, eval)('(function () { return this })()') === undefined && Function('return this')() === undefined ? 'nothing' : 'sloppy';",
  ],
  [
    "Function's parameters cannot close its body",
    "return power(Function('a = 1) { return this }, function (', 'return this'));",
  ],
  [
    "Function's comment in a parameter cannot hide its end",
    "return power(Function('/*', '*/){}); (async () => this'));",
  ],
  [
    "a compartment is not given",
    "return typeof Compartment + typeof ModuleSource + typeof lockdown + typeof harden;",
    /^value: (undefined){4}$/,
  ],
  ["a ShadowRealm is not given", "return typeof ShadowRealm;", /^value: undefined$/],
  [
    "an unknown global is looked up in no outer scope",
    "return [typeof postMessage, typeof self, typeof Bun, typeof evalScope, typeof scopeTerminator, typeof moduleLexicals].join();",
    /^value: undefined(,undefined){5}$/,
  ],
  ["eval as a property of the scope is the compartment's", "const e = eval; return power(e);"],
  ["a template's strings lead nowhere", "return chase(((strings) => strings)`a`);"],
]);

attempts("errors and stack traces", [
  ...errors,
  [
    "the error of `using` does not lead to the engine's Error",
    "let e; try { (0, eval)('{ using a = { [Symbol.dispose]() { throw 1; } }; throw 2; }'); } catch (x) { e = x; } const Class = Object.getPrototypeOf(e.constructor); return Class === Error || Class === Object.getPrototypeOf(TypeError) ? chase(e) : 'another Error';",
  ],
  [
    "prepareStackTrace of no reachable error class is called with frames",
    `
     const errors = [caught(() => null.x), caught(() => atob("*")), new AggregateError([]), caught(() => (0, eval)("{ using a = { [Symbol.dispose]() { throw 1; } }; throw 2; }"))];
     let frames;
     for (const error of errors) for (let C = error.constructor; C; C = Object.getPrototypeOf(C)) {
       try { C.prepareStackTrace = (e, sites) => { frames = sites; return ""; }; } catch {}
       try { Object.defineProperty(C, "prepareStackTrace", { value: (e, sites) => { frames = sites; return ""; } }); } catch {}
     }
     for (const error of [new Error("a"), caught(() => null.x), caught(() => setTimeout("a"))]) String(error.stack);
     return frames === undefined ? "nothing" : "OUTSIDE: frames";`,
  ],
  [
    "captureStackTrace tells nothing of the frames",
    "const o = {}; Error.captureStackTrace?.(o); return String(o.stack) === '' || o.stack === undefined ? 'nothing' : o.stack;",
  ],
  [
    "stackTraceLimit cannot be raised for the realm",
    "try { Error.stackTraceLimit = 1e6; } catch {} return Error.stackTraceLimit === undefined || Error.stackTraceLimit <= 100 ? 'nothing' : 'raised';",
  ],
  [
    "an error's cause may hold anything and leads nowhere",
    "return chase(new Error('a', { cause: new Error('b') }).cause);",
  ],
  [
    "a rethrown error of the host's check has no reference to it",
    "const error = caught(() => (0, eval)(WORD + '.meta')); return chase([error, error.cause, error.errors, error.loc, error.pos]);",
  ],
  [
    "the stack of a timer's error names no file of the user's home",
    "const error = caught(() => setTimeout('x')); return /home|Users/.test(String(error.stack)) ? error.stack : 'nothing';",
  ],
  [
    "no error's stack tells where xdev is installed",
    "return [new Error('a'), caught(() => null.x), caught(() => setTimeout('x')), caught(() => atob('*')), caught(() => new URL('x')), caught(() => pi.registerTool({}))].map((e) => String(e.stack)).filter((s) => /boot|primordials|node_modules|:\\d+:\\d+/.test(s)).join(' ;; ') || 'nothing';",
  ],
  [
    "line, column and sourceURL of an error name no file of ours",
    "return [caught(() => setTimeout('x')), caught(() => atob('*')), caught(() => structuredClone(() => {})), caught(() => null.x), caught(() => (0, eval)('}'))].some((e) => /boot|primordials|node_modules/.test(String(e.sourceURL) + String(e.fileName))) ? 'a file' : 'nothing';",
  ],
  [
    "nothing that a native refuses has a method called with the runtime's inspector",
    `const got = [];
     const inspect = (...args) => { got.push(...args.filter((one) => Object(one) === one)); return ""; };
     const odd = () => ({ __proto__: null, [Symbol.for("nodejs.util.inspect.custom")]: inspect, [Symbol.for("Deno.customInspect")]: inspect });
     const { subtle } = crypto;
     const key = await subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
     const tries = [
       () => new TextDecoder().decode(odd()), () => new TextDecoder(odd()), () => new TextDecoder("utf-8", odd()), () => new TextEncoder().encodeInto("a", odd()),
       () => new URL(odd()), () => new URL("a:b", odd()), () => new URLSearchParams(odd()), () => structuredClone(odd(), odd()), () => atob(odd()), () => new FinalizationRegistry(odd()),
       () => subtle.digest("SHA-256", odd()), () => subtle.digest(odd(), odd()), () => subtle.sign("HMAC", odd(), odd()), () => subtle.sign("HMAC", key, odd()),
       () => subtle.importKey("raw", odd(), { name: "HMAC", hash: odd() }, true, odd()), () => subtle.importKey("jwk", odd(), "HMAC", true, ["sign"]),
       () => subtle.generateKey({ name: "ECDH", namedCurve: odd() }, odd(), odd()), () => subtle.deriveBits({ name: "ECDH", public: odd() }, odd(), odd()),
       () => subtle.encrypt({ name: "AES-GCM", iv: odd(), additionalData: odd() }, key, odd()), () => subtle.exportKey(odd(), odd()),
     ];
     for (const one of tries) try { await one(); } catch (error) { if (await chase(error) !== "nothing") return "OUTSIDE: an error"; }
     return got.length === 0 ? "nothing" : "OUTSIDE: an inspector";`,
    /^value: nothing$/,
  ],
  [
    "what subtle rejects with has no class of the runtime's own that can be changed",
    `const errors = [];
     for (const one of [{}, [], 1, () => {}, new Map(), "a"]) for (const run of [() => crypto.subtle.digest("SHA-256", one), () => crypto.subtle.generateKey({ name: "HMAC", hash: one }, true, one), () => crypto.subtle.importKey(one, one, one, one, one)]) await run().catch((error) => errors.push(error));
     for (const error of errors) for (let at = Object.getPrototypeOf(error); at; at = Object.getPrototypeOf(at)) if (!Object.isFrozen(at)) return "OUTSIDE: " + Reflect.ownKeys(at).map(String);
     return errors.length > 5 ? "nothing" : "no errors";`,
    /^value: nothing$/,
  ],
]);
