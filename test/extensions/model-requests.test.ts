/** The stream of an answer on its way to a module in a real worker: how it is batched, and when its request ends. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AssistantMessage, AssistantMessageEvent } from "@earendil-works/pi-ai";
import { answerCall } from "../../src/extensions/calls.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import type { Extension } from "../../src/extensions/extension.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import type { ModelRequests } from "../../src/extensions/model-calls.ts";
import { CHANGES_CALLS } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";
import { TEST_SETTINGS } from "../support/level.ts";

const message = (text: string): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "a",
  provider: "p",
  model: "m",
  usage: {
    ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: "stop",
  timestamp: 1,
});

async function* words(count: number): AsyncGenerator<AssistantMessageEvent> {
  const partial = message("");
  yield { type: "start", partial };
  yield { type: "text_start", contentIndex: 0, partial };
  for (let at = 0; at < count; at++) {
    if (at % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    yield { type: "text_delta", contentIndex: 0, delta: `${at} `, partial };
  }
  const text = Array.from({ length: count }, (_, at) => `${at} `).join("");
  yield { type: "text_end", contentIndex: 0, content: text, partial };
  yield { type: "done", reason: "stop", message: message(text) };
}

/** A module whose tool gives what `body` returns. */
async function module(folder: Folder, body: string, requests: ModelRequests) {
  const file = folder.file(
    "asks.js",
    `import { stream } from "@earendil-works/pi-ai";
    const ask = () => stream({ provider: "p", id: "m" }, { messages: [{ role: "user", content: "x", timestamp: 1 }] });
    export default (pi) => pi.registerTool({
      name: "ask",
      parameters: {},
      async execute() { return { content: [], details: await (async () => { ${body} })() }; },
    });`,
  );
  const rights = { ...CHANGES_CALLS.rights, demand: async () => {} };
  const manager = await ExtensionManager.load({
    sources: await identifyExtensions(file),
    settings: TEST_SETTINGS,
    env: process.env,
    authority: async () => ({ ...CHANGES_CALLS, rights }),
    host: {
      notice: () => {},
      notify: () => {},
      action: () => {},
      model: { complete: async () => "", requests },
    },
  });
  assert.deepEqual(
    manager.failures().map(({ reason }) => reason),
    [],
  );
  return manager;
}

describe("an answer on its way to a module", () => {
  test("of ten thousand words comes whole, in fewer frames than a module may send", async () => {
    using folder = new Folder();
    const manager = await module(
      folder,
      `let text = "", parts = 0;
       for await (const event of ask()) if (event.type === "text_delta") { text += event.delta; parts++; }
       return { text, parts };`,
      { known: async () => ({ models: [], providers: [] }), ask: () => words(10_000) },
    );
    try {
      const { details } = await manager.tools([])[0]!.execute("c", {});
      const { text, parts } = details as { text: string; parts: number };
      assert.equal(text.split(" ").length, 10_001);
      assert.ok(text.startsWith("0 1 2 ") && text.endsWith(" 9999 "));
      assert.ok(parts < 2000, `${parts} parts`);
    } finally {
      await manager.stop();
    }
  });

  test("waits for a module that is slow, put together to few parts", async () => {
    using folder = new Folder();
    const manager = await module(
      folder,
      `let parts = 0, text = "";
       const iterator = ask()[Symbol.asyncIterator]();
       await iterator.next();
       // Nothing else runs here meanwhile: no batch is asked for.
       const until = Date.now() + 300;
       while (Date.now() < until);
       for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
         if (step.value.type === "text_delta") { parts++; text += step.value.delta; }
       }
       return { parts, words: text.split(" ").length };`,
      { known: async () => ({ models: [], providers: [] }), ask: () => words(2000) },
    );
    try {
      const { details } = await manager.tools([])[0]!.execute("c", {});
      const { parts, words: count } = details as { parts: number; words: number };
      assert.equal(count, 2001);
      assert.ok(parts < 200, `${parts} parts`);
    } finally {
      await manager.stop();
    }
  });

  test("ends its request when the module is stopped", async () => {
    using folder = new Folder();
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const manager = await module(folder, "for await (const event of ask());", {
      known: async () => ({ models: [], providers: [] }),
      async *ask(_request, signal) {
        yield { type: "start", partial: message("") };
        begun.resolve();
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        ended.resolve();
      },
    });
    const call = manager.tools([])[0]!.execute("c", {});
    call.catch(() => {});
    await begun.promise;
    await manager.stop();
    await ended.promise;
  });

  test("that has no end, or breaks off, is a failed message with the reason", async () => {
    using folder = new Folder();
    let asked = 0;
    const manager = await module(
      folder,
      "return [await ask().result(), await ask().result()].map(({ stopReason, errorMessage, content }) => [stopReason, errorMessage, content]);",
      {
        known: async () => ({ models: [], providers: [] }),
        async *ask() {
          const partial = message("");
          yield { type: "start", partial };
          yield { type: "text_start", contentIndex: 0, partial };
          yield { type: "text_delta", contentIndex: 0, delta: "half", partial };
          if (asked++ > 0) throw new Error("the line is dead");
        },
      },
    );
    try {
      const { details } = await manager.tools([])[0]!.execute("c", {});
      const half = [{ type: "text", text: "half" }];
      assert.deepEqual(details, [
        ["error", "the answer has no end", half],
        ["error", "the line is dead", half],
      ]);
    } finally {
      await manager.stop();
    }
  });
});

describe("a request that a module writes by itself", () => {
  const extension = { name: "x", kind: "worker", life: new AbortController().signal } as Extension;
  const rights = (may: boolean) => ({
    ...CHANGES_CALLS.rights,
    demand: async () => {
      if (!may) throw new Error("extension x may not model");
    },
  });
  const asked: unknown[] = [];
  const services = {
    notify: () => {},
    model: {
      complete: async () => "",
      requests: {
        known: async () => ({ models: [], providers: [] }),
        ask: (request: unknown) => {
          asked.push(request);
          return words(1);
        },
      },
    },
  };
  const call = (method: string, params: unknown, may = true) =>
    answerCall(extension, { type: "call", id: "1", method, params }, services, () => () => {}, rights(may));
  const user = { role: "user", content: "x", timestamp: 1 };

  test("has of all that it says only what is a module's to say", async () => {
    const params = JSON.parse(`{
      "provider": "p", "modelId": "m", "baseUrl": "https://evil.example", "apiKey": "k", "model": { "baseUrl": "https://evil.example" },
      "context": {
        "systemPrompt": ["a", "b"], "headers": { "x": "y" }, "__proto__": { "polluted": true },
        "messages": [
          { "role": "user", "content": "x", "timestamp": 1, "apiKey": "k" },
          { "role": "assistant", "content": [{ "type": "toolCall", "id": "1", "name": "t", "arguments": { "a": 1, "__proto__": { "polluted": true } } }], "timestamp": 1, "usage": { "cost": { "total": -5 } }, "diagnostics": [1] }
        ],
        "tools": [{ "name": "t", "description": "d", "parameters": { "type": "object" }, "execute": "x" }]
      },
      "options": { "maxTokens": 5, "apiKey": "k", "headers": { "authorization": "x" }, "baseUrl": "https://evil.example", "env": { "HTTPS_PROXY": "https://evil.example" }, "fetch": "x", "maxRetries": 1000 }
    }`) as unknown;
    await call("model.stream", params);
    const usage = {
      ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    };
    const assistant = {
      ...{ role: "assistant", api: "unknown", provider: "unknown", model: "unknown", stopReason: "stop" },
      content: [{ type: "toolCall", id: "1", name: "t", arguments: { a: 1 } }],
      timestamp: 1,
      usage,
    };
    assert.deepEqual(asked.pop(), {
      provider: "p",
      modelId: "m",
      context: {
        systemPrompt: "a\n\nb",
        messages: [user, assistant],
        tools: [{ name: "t", description: "d", parameters: { type: "object" } }],
      },
      options: { maxTokens: 5 },
    });
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  test("reaches no model and learns of no key without the permission", async () => {
    const request = { provider: "p", modelId: "m", context: { messages: [user] }, options: {} };
    await assert.rejects(call("model.stream", request, false), /may not model/);
    await assert.rejects(call("model.mayUse", { provider: "p" }, false), /may not model/);
    assert.deepEqual(asked, []);
  });

  test("is its own: what another module asks can't be fetched or ended", async () => {
    const request = { provider: "p", modelId: "m", context: { messages: [user] }, options: {} };
    const { stream } = (await call("model.stream", request)) as { stream: string };
    const other = { name: "y", kind: "worker", life: new AbortController().signal } as Extension;
    const asOther = (method: string) =>
      answerCall(
        other,
        { type: "call", id: "1", method, params: { stream } },
        services,
        () => () => {},
        rights(true),
      );
    await assert.rejects(asOther("model.next"), /no such request/);
    await asOther("model.abort");
    let text = "";
    for (let done = false; !done; ) {
      const batch = (await call("model.next", { stream })) as { parts: { delta?: string }[]; done: boolean };
      for (const { delta } of batch.parts) text += delta ?? "";
      ({ done } = batch);
    }
    assert.equal(text, "0 ");
    await assert.rejects(call("model.next", { stream }), /no such request/);
  });
});
