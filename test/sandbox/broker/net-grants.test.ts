/** What a user's grants for hosts let through, with the real rights and real connections. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRights } from "../../../sandbox/permissions/rights.ts";
import { Net, ok, RawServer } from "./net-harness.ts";

const folders = { cwd: "/c", home: "/h", data: "/d/data", tmp: "/t", dataDir: "/d" };
const names = { "a.test": ["127.0.0.1"], "b.a.test": ["127.0.0.1"], localhost: ["::1", "127.0.0.1"] };

/** Grants (PORT is the server's), URL, and whether it is let through. */
const cases: [string[], string, boolean][] = [
  [["127.0.0.1"], "http://127.0.0.1:PORT/", true],
  [["127.0.0.1:PORT"], "http://127.0.0.1:PORT/", true],
  [["127.0.0.1:1"], "http://127.0.0.1:PORT/", false],
  [["127.0.0.1"], "http://0x7f.1:PORT/", true],
  [["localhost:PORT"], "http://localhost:PORT/", true],
  [["localhost"], "http://LOCALHOST.:PORT/", true],
  [["a.test"], "http://a.test:PORT/", false],
  [["a.test", "127.0.0.1"], "http://a.test:PORT/", true],
  [["a.test", "localhost"], "http://a.test:PORT/", true],
  [["127.0.0.1"], "http://a.test:PORT/", false],
  [["*.a.test", "127.0.0.1"], "http://b.a.test:PORT/", true],
  [["*.a.test", "127.0.0.1"], "http://a.test:PORT/", false],
  [["*"], "http://a.test:PORT/", false],
  [["*"], "http://127.0.0.1:PORT/", false],
  [["*"], "http://localhost:PORT/", false],
  [[], "http://127.0.0.1:PORT/", false],
];

describe("with the grants", () => {
  for (const [net, url, isAllowed] of cases) {
    test(`${net.join(", ") || "none"}, a request to ${url} is ${isAllowed ? "made" : "refused"}`, async () => {
      await using server = await RawServer.start(ok("there"));
      const put = (text: string): string => text.replace("PORT", String(server.port));
      const rights = await createRights({
        extension: "test",
        granted: { net: net.map(put) },
        denied: {},
        folders,
        searchPath: "",
      });
      await using broker = new Net({ names, rights });
      const request = broker.fetch(put(url));
      if (isAllowed) assert.equal((await request).text, "there");
      else await assert.rejects(request, { code: "EACCES" });
      assert.equal(server.heads.length, isAllowed ? 1 : 0);
    });
  }
});
