/**
 * What code in the compartment can reach. Each attempt runs as an extension's tool in a real worker; the check is what came
 * back. The list is a start: the walls themselves are SES, the source check and the choice of globals.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Loaded, loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

/** Evaluates the text of one attempt and gives `value: …` or `error: …`. */
const GUEST = `globalThis.Temporal;
export default (pi) => pi.registerTool({
  name: "attempt",
  parameters: { type: "object", properties: { source: { type: "string" } } },
  async execute(id, { source }) {
    let text;
    try {
      const value = await (0, eval)("(async () => (" + source + "))()");
      text = "value: " + (typeof value === "object" && value !== null ? Object.prototype.toString.call(value) : String(value));
    } catch (error) {
      text = "error: " + (error && error.message);
    }
    return { content: [{ type: "text", text: text.slice(0, 2000) }] };
  },
});`;

let loaded: Loaded;
let folder: Folder;
before(async () => {
  folder = new Folder();
  loaded = await loadExtensions([folder.file("guest.ts", GUEST)]);
  assert.deepEqual(loaded.notices, []);
});
after(async () => {
  await loaded.manager.stop();
  folder[Symbol.dispose]();
});

async function attempt(source: string): Promise<string> {
  const result = await loaded.manager.tools(["bash", "read"])[0]!.execute("c", { source });
  const [item] = result.content;
  return item?.type === "text" ? item.text : "";
}

describe("the globals of the compartment", () => {
  test("are the language's and those that were reviewed, and no other", async () => {
    const names = await attempt("Object.getOwnPropertyNames(globalThis).sort().join(' ')");
    assert.equal(names, `value: ${REVIEWED}`);
  });

  for (const name of [
    "Bun",
    "Deno",
    "require",
    "module",
    "WebSocket",
    "Worker",
    "MessageChannel",
    "BroadcastChannel",
    "SharedArrayBuffer",
    "Atomics",
    "WebAssembly",
    "ShadowRealm",
    "Compartment",
    "ModuleSource",
    "lockdown",
    "harden",
    "postMessage",
    "self",
    "navigator",
    "XMLHttpRequest",
    "importScripts",
  ]) {
    test(`${name} is not there`, async () => {
      assert.equal(await attempt(`typeof ${name}`), "value: undefined");
    });
  }

  test("process is plain data without the user's environment", async () => {
    assert.equal(
      await attempt(
        "JSON.stringify([process.env, process.argv.length, typeof process.binding, typeof process.dlopen])",
      ),
      'value: [{},2,"undefined","undefined"]',
    );
  });
});

describe("a way to the start realm", () => {
  const attempts: [string, string, RegExp][] = [
    ["Function", 'new Function("return typeof Bun")()', /^value: undefined$/],
    ["the constructor of a function", '(() => {}).constructor("return 1")()', /not a valid constructor/],
    [
      "the constructor of an async function",
      '(async () => {}).constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "the constructor of a generator",
      '(function* () {}).constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "the constructor of an async generator",
      '(async function* () {}).constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "the constructor of an endowed function",
      'setTimeout.constructor("return 1")()',
      /not a valid constructor/,
    ],
    ["the constructor of an endowed class", 'URL.constructor("return 1")()', /not a valid constructor/],
    [
      "the constructor of a native method",
      'new URL("a:b").toString.constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "the constructor behind an error",
      'new Error("x").constructor.constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "the constructor of an engine's error",
      "(() => { try { null.x } catch (e) { return e.constructor.constructor('return 1')() } })()",
      /not a valid constructor/,
    ],
    [
      "the constructor of a DOMException",
      "(() => { try { atob('*') } catch (e) { return e.constructor.constructor('return 1')() } })()",
      /not a valid constructor/,
    ],
    [
      "the constructor of a promise's reaction",
      'Promise.resolve().then.constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "this of a sloppy function",
      '(0, eval)("(function () { return typeof this })()")',
      /^value: undefined$/,
    ],
    [
      "a caller's arguments",
      "(() => { function f() { return f.caller } return f() })()",
      /^(value: undefined|error: .*)$/,
    ],
    [
      "prepareStackTrace",
      "(() => { Error.prepareStackTrace = (e, s) => s; return typeof new Error('x').stack })()",
      /^(value: (string|undefined)|error: .*)$/,
    ],
    [
      "a timer's handle",
      'setTimeout(() => {}, 0).constructor.constructor("return typeof Bun + typeof postMessage")()',
      /^error: .*not a valid constructor|^value: undefinedundefined$/,
    ],
    ["a timer with a text", 'setTimeout("globalThis.x = 1", 0)', /must be of type function/],
    ["a microtask with a text", 'queueMicrotask("1")', /needs a function/],
    [
      "an abort signal's target",
      "(() => { const a = new AbortController(); const up = Reflect.getPrototypeOf; return typeof up(up(a.signal)).constructor.constructor; })()",
      /^value: function$/,
    ],
    [
      "the realm of a structured clone",
      'structuredClone([]).constructor.constructor("return 1")()',
      /not a valid constructor/,
    ],
    [
      "a thenable in an await",
      "({ then(resolve) { resolve(resolve.constructor('return 1')()) } })",
      /not a valid constructor/,
    ],
  ];
  for (const [what, source, expected] of attempts) {
    test(`${what} leads nowhere`, async () => {
      assert.match(await attempt(source), expected);
    });
  }

  for (const source of [
    "Object.getPrototypeOf(AbortSignal.prototype).addEventListener.call(undefined, 'message', () => {})",
    "EventTarget.prototype.addEventListener.call(null, 'x', () => {})",
    "(0, EventTarget.prototype.dispatchEvent)(new Event('message'))",
    "(0, new AbortController().signal.addEventListener)('message', () => {})",
  ]) {
    test(`an event method without a this reaches nothing: ${source}`, async () => {
      assert.match(await attempt(source), /^error: /);
    });
  }

  test("an event of the guest's knows no object but the guest's", async () => {
    const seen = await attempt(`(() => {
      const a = new AbortController();
      let event;
      a.signal.addEventListener("abort", (e) => { event = e; });
      a.abort();
      return event.target === a.signal && event.constructor === Event && event.view === undefined;
    })()`);
    assert.equal(seen, "value: true");
  });

  test("a URL cannot be made to hold code", async () => {
    assert.equal(await attempt("typeof URL.createObjectURL"), "value: undefined");
  });

  for (const target of [
    "Object.prototype",
    "Array.prototype",
    "Function.prototype",
    "Promise.prototype",
    "Promise",
    "String.prototype",
    "RegExp.prototype",
    "URL.prototype",
    "TextEncoder.prototype",
    "(() => { try { atob('*') } catch (e) { return e.constructor } })()",
    "Object.getPrototypeOf(new URLSearchParams().entries())",
    "Object.getPrototypeOf(async function* () {}).prototype",
    "Reflect",
    "JSON",
    "Math",
    "Date",
    "Temporal",
    "Temporal.Now",
    "URL",
  ]) {
    test(`${target} is frozen: one piece of code cannot poison another's`, async () => {
      assert.equal(await attempt(`Object.isFrozen(${target})`), "value: true");
    });
  }
});

test("an extension without the name in its text has no Temporal, and no date leads to it", async () => {
  using own = new Folder();
  const without = await loadExtensions([own.file("guest.ts", GUEST.replace("globalThis.Temporal;", ""))]);
  try {
    const [tool] = without.manager.tools([]);
    const tell = async (source: string) => {
      const { content } = await tool!.execute("c", { source });
      return (content[0] as { text: string }).text;
    };
    assert.equal(await tell("typeof globalThis['Temp' + 'oral']"), "value: undefined");
    assert.match(await tell("new Date(0).toTemporalInstant()"), /^error: Temporal is not there/);
  } finally {
    await without.manager.stop();
  }
  assert.equal(await attempt("new Date(0).toTemporalInstant().epochMilliseconds"), "value: 0");
});

describe("an import in evaluated text", () => {
  for (const text of [
    "import('node:fs')",
    "import ('node:fs')",
    "import/**/('node:fs')",
    "import\\n('node:fs')",
    "import.defer('node:fs')",
    "import . defer('node:fs')",
    "import.source('node:fs')",
    "import.meta",
    "import.meta.url",
    "`${import('node:fs')}`",
    "(() => import('node:fs'))()",
    "async () => await import.defer('node:fs')",
    "im\\\\u0070ort('node:fs')",
    "new Function(\"return import('node:fs')\")()",
    "eval(\"import('node:fs')\")",
    '(0, eval)("(0, eval)(\\\\"import.defer(\'node:fs\')\\\\")")',
  ]) {
    test(`${text} is refused`, async () => {
      const viaEval = await attempt(`(0, eval)(${JSON.stringify(text).replaceAll("\\\\", "\\")})`);
      assert.match(viaEval, /^error: /);
      const viaFunction = await attempt(
        `new Function("return " + ${JSON.stringify(text).replaceAll("\\\\", "\\")})()`,
      );
      assert.match(viaFunction, /^error: /);
    });
  }
});

const REVIEWED =
  "AbortController AbortSignal AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Blob Boolean Buffer ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy DataView Date DecompressionStream Error EvalError Event EventTarget File FinalizationRegistry Float16Array Float32Array Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader ReferenceError Reflect RegExp Request Response Set String Symbol SyntaxError Temporal TextDecoder TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WritableStream WritableStreamDefaultController WritableStreamDefaultWriter atob btoa clearImmediate clearInterval clearTimeout console crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval fetch global globalThis isFinite isNaN parseFloat parseInt performance process queueMicrotask setImmediate setInterval setTimeout structuredClone undefined unescape";

describe("a guest whose first text is evaluated with no stack left", () => {
  const EDGE = `export default (pi) => pi.registerTool({
    name: "edge",
    parameters: { type: "object", properties: {} },
    async execute() {
      const seen = new Set();
      let tries = 0;
      const evaluate = (text) => {
        try {
          (0, eval)(text);
          seen.add("evaluated " + text);
        } catch (error) {
          seen.add(error.name);
        }
      };
      const edge = () => {
        try {
          edge();
        } catch {}
        if (tries++ < 500) evaluate("1");
      };
      edge();
      for (const text of ["({ a: imp" + "ort.meta })", "imp" + "ort.defer('node:fs')", "1 +", "with ({}) {}"]) evaluate(text);
      return { content: [{ type: "text", text: [...seen].sort().join(" ") }] };
    },
  });`;

  test("evaluates what was checked, or nothing", async () => {
    using own = new Folder();
    await using edge = await loadExtensions([own.file("edge.ts", EDGE)]);
    const { content } = await edge.manager.tools([])[0]!.execute("c", {});
    const [item] = content;
    const seen = item?.type === "text" ? item.text.replace("evaluated 1", "evaluated").split(" ") : [];
    // An error of the runtime's own loader would be one of those objects that no guest may have.
    const expected = ["EvalError", "RangeError", "SyntaxError", "evaluated"];
    assert.deepEqual(
      seen.filter((name) => !expected.includes(name)),
      [],
    );
    assert.ok(seen.includes("EvalError") || seen.includes("SyntaxError"));
  });
});
