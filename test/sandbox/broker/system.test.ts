/** What extensions are told of the machine, its user and the environment: each by its permission. */
import assert from "node:assert/strict";
import { hostname, totalmem } from "node:os";
import { describe, test } from "node:test";
import { FakeRights, testBroker } from "../../support/broker.ts";

const values: Record<string, (value: never) => void> = {
  "sys.hostname": (value) => assert.equal(value, hostname()),
  "sys.user": (value: { uid: number; username: string }) => {
    assert.equal(value.uid, process.getuid!());
    assert.equal(typeof value.username, "string");
  },
  "sys.cpu": (value: { cpus: unknown[]; load: number[]; parallelism: number }) => {
    assert.ok(value.cpus.length >= 1 && value.parallelism >= 1);
    assert.equal(value.load.length, 3);
  },
  "sys.memory": (value: { total: number; uptime: number }) => {
    assert.equal(value.total, totalmem());
    assert.ok(value.uptime > 0);
  },
};

describe("system information", () => {
  for (const [name, check] of Object.entries(values)) {
    test(`${name} is given by its permission alone`, async () => {
      await using made = testBroker("/");
      check((await made.call(name)).value as never);
      assert.deepEqual(made.rights.asked, [{ kind: "sys", what: name.slice("sys.".length) }]);
      made.rights.decide = () => false;
      await assert.rejects(made.call(name), { code: "EACCES" });
    });
  }
});

describe("a variable", () => {
  const env = { TOKEN: "s3cret", EMPTY: "" };

  test("is given by its permission alone", async () => {
    const rights = new FakeRights((request) => request.kind === "env" && request.name !== "OTHER");
    await using made = testBroker("/", { rights, env });
    assert.equal((await made.call("env.get", { name: "TOKEN" })).value, "s3cret");
    assert.equal((await made.call("env.get", { name: "EMPTY" })).value, "");
    for (const name of ["MISSING", "__proto__", "toString"]) {
      assert.equal((await made.call("env.get", { name })).value, null);
    }
    await assert.rejects(made.call("env.get", { name: "OTHER" }), { code: "EACCES" });
  });

  test("that was denied is in no error", async () => {
    await using made = testBroker("/", { rights: new FakeRights(() => false), env });
    const answer = await made.broker.call("env.get", '{"name":"TOKEN"}', undefined);
    assert.doesNotMatch(JSON.stringify(answer), /s3cret/);
  });
});
