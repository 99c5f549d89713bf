import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { z } from "zod";
import { BUILTIN_NAMES, keyVariables, loadBuiltin } from "../../src/models/builtin.ts";
import { listModels, type ModelOptions, resolveModel } from "../../src/models/index.ts";
import { type LocalServer, readModels } from "../../src/models/local.ts";
import { modelsFileSchema } from "../../src/models/schema.ts";
import { ask, modelsYml, resolveWith, withFolder, withServer } from "./helpers.ts";

const TWO = `
defaultModel: second/big/one
providers:
  first: { baseUrl: http://127.0.0.1:9/v1, models: [{ id: small }, { id: shared }] }
  second:
    baseUrl: https://models.example/v1/
    apiKey: \${SECOND_KEY}
    models: [{ id: big/one, contextWindow: 1000 }, { id: shared }]
`;

async function fails(promise: Promise<unknown>, code: string, pattern: RegExp): Promise<void> {
  await assert.rejects(promise, (error: Error & { code?: string }) => {
    assert.match(error.message, pattern);
    assert.equal(error.code, code);
    return true;
  });
}

function without(options: Partial<ModelOptions> = {}): Promise<{ model: { provider: string; id: string } }> {
  return withFolder({}, (dataDir) =>
    resolveModel({ dataDir, cwd: dataDir, env: {}, localServers: [], ...options }),
  );
}

function local(port: number, name = "ollama"): LocalServer {
  return { name, label: name, port, paths: ["/v1/models", "/api/tags"] };
}

describe("a model is chosen", () => {
  const env = { SECOND_KEY: "key-of-second" };

  test("by defaultModel, by provider/id and by an id alone", async () => {
    assert.equal((await resolveWith(TWO, { env })).model.id, "big/one");
    assert.equal((await resolveWith(TWO, { env, spec: "first/small" })).model.provider, "first");
    assert.equal((await resolveWith(TWO, { env, spec: "small" })).model.provider, "first");
    assert.equal((await resolveWith(TWO, { env, spec: "big/one" })).model.provider, "second");
  });

  test("from models.yml before the environment, first usable provider first", async () => {
    const yaml = TWO.replace(/^defaultModel.*$/m, "");
    assert.equal((await resolveWith(yaml, { env: { OPENAI_API_KEY: "sk-123456" } })).model.id, "small");
  });

  test("from a built-in provider whose key is set, anthropic before the others", async () => {
    const both = await without({ env: { OPENAI_API_KEY: "sk-123456", ANTHROPIC_API_KEY: "sk-654321" } });
    assert.equal(both.model.provider, "anthropic");
    assert.equal((await without({ env: { GEMINI_API_KEY: "g-123456" } })).model.provider, "google");
  });

  test("from a server on this machine when nothing is configured, offline too", async () => {
    await withServer({ models: ["qwen-test", "text-embedding-x"] }, async (server) => {
      const found = await without({ localServers: [local(server.port)], offline: true });
      assert.equal(`${found.model.provider}/${found.model.id}`, "ollama/qwen-test");
      const named = await without({ spec: "ollama/qwen-test", localServers: [local(server.port)] });
      assert.equal(named.model.id, "qwen-test");
    });
  });

  test("with what the file says and defaults for the rest", async () => {
    const { model } = await resolveWith(TWO, { env });
    assert.equal(model.baseUrl, "https://models.example/v1");
    assert.equal(model.contextWindow, 1000);
    assert.equal(model.maxTokens, 16_384);
    assert.deepEqual(model.input, ["text"]);
    assert.deepEqual(model.cost, { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 });
    assert.equal(model.api, "openai-completions");
  });

  test("or refused: an unknown name with a suggestion, an ambiguous one with the candidates", async () => {
    await fails(resolveWith(TWO, { env, spec: "shared" }), "unknown-model", /first\/shared, second\/shared/);
    await fails(resolveWith(TWO, { env, spec: "first/smal" }), "unknown-model", /Did you mean "small"\?/);
    await fails(
      resolveWith(TWO, { env, spec: "frist/small" }),
      "unknown-model",
      /no provider "frist"\. Did you mean "first"\?/,
    );
    await fails(
      resolveWith("defaultModel: nope/x\n"),
      "unknown-model",
      /models\.yml:1: defaultModel: there is no provider "nope"/,
    );
  });

  test("or refused: a variable that is not set, when its provider is used, with file and line", async () => {
    await fails(
      resolveWith(TWO),
      "no-model",
      /SECOND_KEY is not set \(providers\.second\.apiKey, .*models\.yml:7\)/,
    );
    assert.equal((await resolveWith(TWO, { spec: "first/small" })).model.id, "small");
    await fails(
      without({ spec: "openai/gpt-x" }),
      "no-model",
      /"openai" can't be used: OPENAI_API_KEY is not set/,
    );
  });

  test("or refused offline, unless it is on this machine", async () => {
    await fails(
      resolveWith(TWO, { env, offline: true }),
      "no-model",
      /offline, and models\.example is not on this machine/,
    );
    await fails(
      without({ env: { OPENAI_API_KEY: "sk-123456" }, offline: true }),
      "no-model",
      /offline: openai can't be asked/,
    );
  });

  test("or not at all: the error names the file, the variables and the servers tried", async () => {
    const port = await withServer({}, async (server) => server.port);
    const promise = without({ localServers: [local(port)] });
    await fails(promise, "no-model", /models\.yml does not exist/);
    await fails(promise, "no-model", /ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY/);
    await fails(promise, "no-model", new RegExp(`ollama, port ${port}: nothing listens there`));
  });
});

describe("models.yml", () => {
  const refused = (yaml: string, pattern: RegExp) => fails(resolveWith(yaml), "bad-models-file", pattern);

  test("with a mistake is refused with file, line and path", async () => {
    await refused(
      "providers:\n  x:\n    baseURL: http://127.0.0.1:1/v1\n    models: [{ id: a }]\n",
      /models\.yml:3: providers\.x\.baseURL: unknown key\. Did you mean "baseUrl"\?/,
    );
    await refused("provider: {}\n", /models\.yml:1: provider: unknown key\. Did you mean "providers"\?/);
    await refused(
      "providers:\n  x:\n    baseUrl: http://a/v1\n    models:\n      - id: a\n        contextWindow: big\n",
      /models\.yml:6: providers\.x\.models\[0\]\.contextWindow: /,
    );
    await refused(
      "providers:\n  x:\n    baseUrl: http://a/v1\n    api: opanai\n    models: [{ id: a }]\n",
      /models\.yml:4: providers\.x\.api: unknown api "opanai"; known: openai-completions, .*anthropic-messages/,
    );
    await refused(
      "providers:\n  x:\n    models: [{ id: a }]\n",
      /models\.yml:2: providers\.x: baseUrl is missing/,
    );
    await refused(
      "providers:\n  x:\n    baseUrl: models.example\n    models: [{ id: a }]\n",
      /models\.yml:3: providers\.x\.baseUrl: not a URL/,
    );
    await refused(
      "providers:\n  x:\n    baseUrl: http://a\n    models: [{ id: a }, { id: a }]\n",
      /models\.yml:4: .*"a" is there twice/,
    );
    await refused("a: b: c\n", /models\.yml:1: /);
    await refused(`${modelsYml("http://a")}defaultModel: x\n`, /defaultModel: provider\/id/);
    await refused(
      modelsYml("http://a", { apiKey: '"${open"' }),
      /models\.yml:4: providers\.x\.apiKey: .*without its/,
    );
  });

  test("may be empty, and may name a default of a built-in provider only", async () => {
    await fails(resolveWith("# nothing yet\n"), "no-model", /has no providers/);
    const { models } = await loadBuiltin("openai");
    const id = models[0]?.id;
    const { model } = await resolveWith(`defaultModel: openai/${id}\n`, {
      env: { OPENAI_API_KEY: "sk-123456" },
    });
    assert.equal(model.id, id);
  });

  test("takes aliases of protocols, and sends keys and headers with their variables", async () => {
    await withServer({ api: "anthropic", script: [{ text: "ok" }] }, async (server) => {
      const yaml = `
providers:
  x:
    baseUrl: ${server.url}/v1
    api: anthropic
    apiKey: pre-\${KEY_PART}-$\${x}
    headers: { X-Team: "\${TEAM}" }
    models: [{ id: test-model }]
`;
      const { message } = await ask(await resolveWith(yaml, { env: { KEY_PART: "abcdef", TEAM: "blue" } }));
      assert.equal(message.stopReason, "stop");
      assert.equal(server.requests[0]?.headers["x-api-key"], `pre-abcdef-\${x}`);
      assert.equal(server.requests[0]?.headers["x-team"], "blue");
    });
  });

  test("asks a built-in provider at the file's address with the file's key, or the environment's", async () => {
    await withServer({ api: "anthropic", script: [{ text: "one" }, { text: "two" }] }, async (server) => {
      const yaml = `providers:\n  anthropic: { baseUrl: "${server.url}" }\n`;
      const own = yaml.replace(" }", ", apiKey: key-of-file }");
      assert.equal((await ask(await resolveWith(own))).message.stopReason, "stop");
      const env = { ANTHROPIC_API_KEY: "key-of-environment" };
      assert.equal((await ask(await resolveWith(yaml, { env }))).message.stopReason, "stop");
      assert.deepEqual(
        server.requests.map(({ headers }) => headers["x-api-key"]),
        ["key-of-file", "key-of-environment"],
      );
      assert.ok(server.requests.every(({ headers }) => headers["user-agent"]?.startsWith("xdev/")));
    });
  });

  test("gives a built-in provider another key and address, and keeps its catalogue", async () => {
    const yaml = "providers:\n  openai: { apiKey: my-own-key, baseUrl: http://127.0.0.1:9/v1 }\n";
    const { model } = await resolveWith(yaml);
    assert.equal(model.provider, "openai");
    assert.equal(model.baseUrl, "http://127.0.0.1:9/v1");
  });

  test("has a JSON Schema for editors", () => {
    const schema = z.toJSONSchema(modelsFileSchema, { io: "input" });
    assert.deepEqual(Object.keys(schema.properties ?? {}), ["providers", "defaultModel"]);
  });
});

describe("the list of models", () => {
  const list = (yaml: string | undefined, options: Partial<ModelOptions> = {}) =>
    withFolder(yaml === undefined ? {} : { "models.yml": yaml }, (dataDir) =>
      listModels({ dataDir, cwd: dataDir, env: {}, localServers: [], ...options }),
    );

  test("says what is usable, what would be chosen, and why the rest is not", async () => {
    const listing = await list(TWO.replace(/^defaultModel.*$/m, ""));
    const by = (name: string) => listing.providers.find((provider) => provider.name === name);
    assert.equal(listing.chosen, "first/small");
    assert.ok(by("first")?.usable);
    assert.deepEqual(
      by("first")?.models.map((model) => model.id),
      ["small", "shared"],
    );
    assert.match(by("second")?.reason ?? "", /SECOND_KEY is not set/);
    assert.equal(by("second")?.models.length, 2);
    assert.match(by("anthropic")?.reason ?? "", /ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set/);
  });

  test("asks local servers when nothing else is usable, and tells who answers but is none", async () => {
    const page = createServer((_, response) => response.end("<html>hello</html>")).listen(0, "127.0.0.1");
    await new Promise((resolve) => page.once("listening", resolve));
    const redirect = createServer((_, response) =>
      response.writeHead(302, { location: "http://models.example/" }).end(),
    );
    redirect.listen(0, "127.0.0.1");
    await new Promise((resolve) => redirect.once("listening", resolve));
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const port = (server: typeof page) => (server.address() as AddressInfo).port;
    try {
      await withServer({ models: ["m1"] }, async (server) => {
        const listing = await list(undefined, {
          localServers: [
            local(port(page), "a"),
            local(port(silent), "b"),
            local(server.port, "c"),
            local(port(redirect), "d"),
          ],
        });
        const [a, b, c, d] = listing.providers.filter((provider) => provider.source === "local");
        assert.match(a?.reason ?? "", /answers, but not as a model server/);
        assert.match(b?.reason ?? "", /no answer within 300 ms/);
        assert.deepEqual(
          c?.models.map((model) => model.id),
          ["m1"],
        );
        assert.match(d?.reason ?? "", /answers, but not as a model server/);
        assert.equal(listing.chosen, "c/m1");
      });
    } finally {
      for (const server of [page, silent, redirect]) {
        server.close();
        server.closeAllConnections();
      }
    }
  });
});

test("what a local server lists is read with care", () => {
  const ids = (text: string) => readModels(text)?.map((model) => model.id);
  assert.deepEqual(ids('{"models":[{"name":"qwen:7b"}]}'), ["qwen:7b"]);
  assert.deepEqual(ids('{"data":[{"id":"a\\u001b[31m"},{"id":7},null,{"id":"b"}]}'), ["b"]);
  assert.deepEqual(readModels('{"data":[{"id":"a","max_model_len":4096}]}'), [
    { id: "a", contextWindow: 4096 },
  ]);
  for (const text of ["", "<html>", "[]", "null", '{"data":"x"}', '{"data":[{"x":1}]}'])
    assert.equal(readModels(text), undefined);
});

test("every built-in provider has a catalogue with its preferred model, and a variable for its key", async () => {
  for (const name of BUILTIN_NAMES) {
    const { provider, models, preferred } = await loadBuiltin(name);
    assert.equal(provider.id, name);
    assert.ok(models.length > 0 && preferred, name);
    assert.ok(keyVariables(name).length > 0);
  }
});
