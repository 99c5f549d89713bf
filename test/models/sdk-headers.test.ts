/** What the providers' SDKs read from the process's environment by themselves goes to no server. */
import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { API_NAMES } from "../../src/models/api.ts";
import { ask, modelsYml, resolveWith } from "./helpers.ts";

const VARIABLES: Record<string, string> = {
  OPENAI_CUSTOM_HEADERS: "X-Corp: of-the-user-1\nAuthorization: Bearer of-the-user-2\napi-key: of-the-user-3",
  ANTHROPIC_CUSTOM_HEADERS: "X-Corp: of-the-user-4\nauthorization: of-the-user-5\nX-Api-Key: of-the-user-6",
  ...Object.fromEntries(
    "OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN GEMINI_API_KEY GOOGLE_API_KEY MISTRAL_API_KEY AZURE_OPENAI_API_KEY"
      .split(" ")
      .map((name) => [name, `of-the-user-${name}`]),
  ),
};

describe("a server that the user named", () => {
  let got: { url: string | undefined; headers: IncomingHttpHeaders } | undefined;
  const server = createServer((request, response) => {
    got = { url: request.url, headers: request.headers };
    response.writeHead(400).end("{}");
  });
  const kept = new Map<string, string | undefined>();
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    for (const [name, value] of Object.entries(VARIABLES)) {
      kept.set(name, process.env[name]);
      process.env[name] = value;
    }
  });
  after(async () => {
    for (const [name, value] of kept) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  for (const api of API_NAMES) {
    for (const apiKey of ["key-of-this-server", "sk-ant-oat-of-this-server", "none"]) {
      test(`gets by ${api} with the key ${apiKey} that key, and nothing of the environment`, async () => {
        const { port } = server.address() as AddressInfo;
        got = undefined;
        await ask(await resolveWith(modelsYml(`http://127.0.0.1:${port}/v1`, { api, apiKey })));
        assert.ok(got, "there was a request");
        const sent = JSON.stringify(got);
        assert.ok(!sent.includes("of-the-user"), sent);
        assert.equal(sent.includes("of-this-server"), apiKey !== "none", sent);
      });
    }
  }
});
