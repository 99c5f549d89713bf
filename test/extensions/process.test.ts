/** Process extensions, for real: whatever goes wrong with a policy, no call passes that it did not allow. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decideToolCall, patchToolResult } from "../../src/extensions/chain.ts";
import { loadExtensions } from "../support/extensions.ts";
import { Folder } from "../support/folder.ts";
import { gone } from "../support/processes.ts";

const DENY_RM = fileURLToPath(new URL("../../src/docs/examples/deny-rm.py", import.meta.url));
const CAPABILITIES = `printf '%s\\n' '{"type":"capabilities","payload":{"events":["tool_call"]}}'`;

/** A policy in sh: says what it is, then runs `body` for each line after `hello`, with the frame's id in `$id`. */
function policy(body: string, capabilities = CAPABILITIES): string {
  return `#!/bin/sh
${capabilities}
while read -r line; do
  case "$line" in *'"type":"event"'*) ;; *) continue ;; esac
  id=$(printf '%s' "$line" | sed 's/.*"id":"\\([0-9]*\\)".*/\\1/')
  ${body}
done
`;
}

const ALLOW = `printf '{"type":"response","id":"%s","allow":true}\\n' "$id"`;

async function decide(loaded: Awaited<ReturnType<typeof loadExtensions>>, command = "ls") {
  return decideToolCall(
    loaded.manager.interceptors(),
    { tool: "bash", arguments: { command }, callId: "c1" },
    (args) => args,
  );
}

describe("a process extension", () => {
  test("the specification's deny-rm.py, unchanged, denies rm -rf with its reason and allows the rest", async () => {
    await using loaded = await loadExtensions([DENY_RM]);
    assert.deepEqual(loaded.notices, []);
    assert.deepEqual(await decide(loaded), { allow: true, arguments: { command: "ls" } });
    assert.deepEqual(await decide(loaded, "rm -rf /"), {
      allow: false,
      reason: "blocked by extension deny-rm: rm -rf is disabled in this project",
    });
  });

  test("one that prints its capabilities before it reads anything is accepted", async () => {
    using folder = new Folder();
    await using loaded = await loadExtensions([folder.program("early", policy(ALLOW))]);
    assert.equal((await decide(loaded)).allow, true);
  });

  /** Each is a policy that fails to answer: the call must be denied, and the extension named. */
  const failures: [string, string, RegExp][] = [
    ["exits with a status", "exit 3", /it exited with status 3/],
    ["exits with status 0", "exit 0", /it exited with status 0/],
    ["is killed by a signal", "kill -9 $$", /it was ended by signal SIGKILL/],
    ["answers something that is not JSON", "echo 'allow: true'", /it sent a line that is not JSON/],
    ["answers half a frame and exits", `printf '{"type":"response"'; exit 0`, /it exited with status 0/],
    ["answers a JSON text that is no object", "echo '[true]'", /it sent a frame that is not a JSON object/],
    ["answers a frame of unknown type", `echo '{"type":"allow"}'`, /it sent a frame of unknown type "allow"/],
    [
      "answers allow with the wrong type",
      `printf '{"type":"response","id":"%s","allow":"true"}\\n' "$id"`,
      /malformed/,
    ],
    ["answers without allow", `printf '{"type":"response","id":"%s"}\\n' "$id"`, /: denied$/],
    ["answers with an error", `printf '{"type":"response","id":"%s","error":"oops"}\\n' "$id"`, /: oops$/],
    [
      "answers with an error and allow",
      `printf '{"type":"response","id":"%s","allow":true,"error":"oops"}\\n' "$id"`,
      /: oops$/,
    ],
    ["sends its capabilities a second time", CAPABILITIES, /it sent capabilities a second time/],
    [
      "answers another id",
      `echo '{"type":"response","id":"999","allow":true}'`,
      /did not answer tool_call within 300 ms/,
    ],
    ["never answers", "sleep 60", /did not answer tool_call within 300 ms/],
    ["closes its output and lives", "exec 1>&-; sleep 60", /did not answer tool_call within 300 ms/],
    ["answers too late", `sleep 1; ${ALLOW}`, /did not answer tool_call within 300 ms/],
    [
      "revises with something that is no object",
      `printf '{"type":"response","id":"%s","allow":true,"revise":"x"}\\n' "$id"`,
      /revise is not a JSON object/,
    ],
    [
      "sends a line over the limit",
      `head -c 20000 /dev/zero | tr '\\0' x; echo; ${ALLOW}`,
      /it sent a line longer than 10000 bytes/,
    ],
  ];
  for (const [what, body, reason] of failures) {
    test(`a policy that ${what} denies the call`, async () => {
      using folder = new Folder();
      const path = folder.program("policy.sh", policy(body));
      await using loaded = await loadExtensions([path], { eventTimeoutMs: 300, maxFrameBytes: 10_000 });
      assert.deepEqual(loaded.notices, [], "it loaded");
      const verdict = await decide(loaded);
      assert.equal(verdict.allow, false);
      assert.match((verdict as { reason: string }).reason, /^blocked by extension policy: /);
      assert.match((verdict as { reason: string }).reason, reason);
    });
  }

  test("one that dies is off for the rest of the session, and the user is told once", async () => {
    using folder = new Folder();
    await using loaded = await loadExtensions([folder.program("p.sh", policy("exit 3"))]);
    assert.equal((await decide(loaded)).allow, false);
    assert.equal((await decide(loaded)).allow, true);
    assert.deepEqual(loaded.notices, ["extension p exited with status 3; it is off now"]);
  });

  test("one that dies between two calls still denies the next one, once", async () => {
    using folder = new Folder();
    const alive = folder.file("alive", "");
    const body = `printf '{"type":"response","id":"%s","allow":true}\\n' "$id"; rm -f ${alive}; exit 1`;
    await using loaded = await loadExtensions([folder.program("p.sh", policy(body))]);
    assert.equal((await decide(loaded)).allow, true);
    while (loaded.manager.extensions[0]?.state === "ready")
      await new Promise((resolve) => setTimeout(resolve, 5));
    const verdict = await decide(loaded);
    assert.deepEqual(verdict, { allow: false, reason: "blocked by extension p: it exited with status 1" });
    assert.equal((await decide(loaded)).allow, true);
  });

  test("failOpen in its capabilities lets its failures pass, but not its denials", async () => {
    using folder = new Folder();
    const open = CAPABILITIES.replace('"events"', '"failOpen":true,"events"');
    await using dead = await loadExtensions([folder.program("dead.sh", policy("exit 1", open))]);
    assert.equal((await decide(dead)).allow, true);
    const deny = `printf '{"type":"response","id":"%s","allow":false}\\n' "$id"`;
    await using denying = await loadExtensions([folder.program("denying.sh", policy(deny, open))]);
    assert.equal((await decide(denying)).allow, false);
  });

  test("failOpen on one answer lets that failure pass", async () => {
    using folder = new Folder();
    const body = `printf '{"type":"response","id":"%s","error":"x","failOpen":true}\\n' "$id"`;
    await using loaded = await loadExtensions([folder.program("p.sh", policy(body))]);
    assert.equal((await decide(loaded)).allow, true);
  });

  test("events that it did not list are never sent", async () => {
    using folder = new Folder();
    const body = `echo "$line" >> ${folder.path}/seen; ${ALLOW}`;
    await using loaded = await loadExtensions([folder.program("p.sh", policy(body))]);
    loaded.manager.emit("session_start", {});
    loaded.manager.emit("turn_end", {});
    await decide(loaded);
    const seen = readFileSync(`${folder.path}/seen`, "utf8").trim().split("\n");
    assert.equal(seen.length, 1);
    assert.deepEqual(JSON.parse(seen[0] ?? ""), {
      type: "event",
      id: "1",
      event: "tool_call",
      payload: { tool: "bash", arguments: { command: "ls" }, callId: "c1" },
    });
  });

  test("revise replaces the arguments, patch replaces the text of a result, images stay", async () => {
    using folder = new Folder();
    const body = `case "$line" in
    *'"event":"tool_call"'*) printf '{"type":"response","id":"%s","allow":true,"revise":{"command":"pwd"}}\\n' "$id" ;;
    *) printf '{"type":"response","id":"%s","patch":{"text":"new","isError":true}}\\n' "$id" ;;
  esac`;
    const both = CAPABILITIES.replace('"tool_call"', '"tool_call","tool_result"');
    await using loaded = await loadExtensions([folder.program("p.sh", policy(body, both))]);
    assert.deepEqual(await decide(loaded), { allow: true, arguments: { command: "pwd" } });
    const image = { type: "image" as const, data: "AA==", mimeType: "image/png" };
    const result = await patchToolResult(
      loaded.manager.interceptors(),
      { tool: "bash", arguments: {}, callId: "c1" },
      { content: [{ type: "text", text: "old" }, image], details: 1, isError: false },
    );
    assert.deepEqual(result, { content: [{ type: "text", text: "new" }, image], details: 1, isError: true });
  });

  test("its tools are ext_<extension>_<tool>, get the model's arguments, and answer with text", async () => {
    using folder = new Folder();
    const capabilities = `printf '%s\\n' '{"type":"capabilities","payload":{"tools":[{"name":"add up","description":"d","parameters":{"type":"object"}}]}}'`;
    const body = `echo "$line" > ${folder.path}/seen; printf '{"type":"response","id":"%s","patch":{"text":"42"}}\\n' "$id"`;
    await using loaded = await loadExtensions([folder.program("calc.sh", policy(body, capabilities))]);
    const [tool] = loaded.manager.tools(["bash", "read"]);
    assert.equal(tool?.name, "ext_calc_add_up");
    const result = await tool?.execute("c7", { a: 1 });
    assert.deepEqual(result?.content, [{ type: "text", text: "42" }]);
    assert.deepEqual(JSON.parse(readFileSync(`${folder.path}/seen`, "utf8")).payload, {
      tool: "add up",
      arguments: { a: 1 },
      callId: "c7",
    });
  });

  test("a tool whose extension dies fails, and names it", async () => {
    using folder = new Folder();
    const capabilities = `printf '%s\\n' '{"type":"capabilities","payload":{"tools":[{"name":"t"}]}}'`;
    await using loaded = await loadExtensions([folder.program("calc.sh", policy("exit 9", capabilities))]);
    await assert.rejects(
      async () => loaded.manager.tools(["bash", "read"])[0]?.execute("c", {}),
      /extension calc exited with status 9/,
    );
  });

  /** Each is a load failure: recorded with a reason, and no obstacle to the session. */
  const loadFailures: [string, string, RegExp][] = [
    ["sends nothing", "#!/bin/sh\nsleep 60\n", /sent no capabilities within 400 ms/],
    ["exits at once", "#!/bin/sh\necho why >&2\nexit 4\n", /exited with status 4/],
    [
      "speaks another protocol",
      `#!/bin/sh\necho '{"type":"capabilities","protocol":2,"payload":{}}'\ncat\n`,
      /speaks protocol 2/,
    ],
    [
      "answers before its capabilities",
      `#!/bin/sh\necho '{"type":"response","id":"1"}'\ncat\n`,
      /sent a response frame before its capabilities/,
    ],
    ["has an interpreter that does not exist", "#!/no/such/interpreter\n", /could not be started/],
  ];
  for (const [what, text, reason] of loadFailures) {
    test(`one that ${what} is recorded as a load failure and blocks nothing`, async () => {
      using folder = new Folder();
      const bad = folder.program("bad.sh", text);
      // The other one may take its time on a busy machine.
      await using loaded = await loadExtensions([bad, DENY_RM], {
        overrides: { bad: { handshakeTimeoutMs: 400 } },
      }).catch(() => {
        throw new Error("the session did not start");
      });
      const [failure] = loaded.manager.failures();
      assert.equal(failure?.name, "bad");
      assert.match(failure?.reason ?? "", reason);
      assert.equal(loaded.manager.failures().length, 1);
      assert.equal((await decide(loaded, "rm -rf x")).allow, false, "the other one works");
      if (what === "exits at once") assert.deepEqual([failure?.exitCode, failure?.log], [4, ["why"]]);
    });
  }

  test("no process is left when the session ends, not even a grandchild that ignores SIGTERM", async () => {
    using folder = new Folder();
    const text = `#!/bin/sh
sh -c 'trap "" TERM HUP; echo $$ > ${folder.path}/grandchild; while :; do sleep 0.05; done' &
while [ ! -s ${folder.path}/grandchild ]; do sleep 0.01; done
trap "" TERM
echo $$ > ${folder.path}/child
${CAPABILITIES}
while :; do sleep 0.05; done
`;
    const loaded = await loadExtensions([folder.program("stubborn.sh", text)]);
    assert.deepEqual(loaded.notices, []);
    await loaded.manager.stop();
    for (const name of ["child", "grandchild"]) {
      await gone(Number(readFileSync(`${folder.path}/${name}`, "utf8")));
    }
  });

  test("it gets none of the user's keys", async () => {
    using folder = new Folder();
    process.env.XDEV_TEST_API_KEY = "secret-value";
    try {
      const path = folder.program(
        "env.sh",
        `#!/bin/sh\nenv > ${folder.path}/env\n${CAPABILITIES}\ncat >/dev/null\n`,
      );
      await using loaded = await loadExtensions([path]);
      assert.deepEqual(loaded.notices, []);
      const env = readFileSync(`${folder.path}/env`, "utf8");
      assert.doesNotMatch(env, /secret-value|API_KEY/);
      assert.match(env, /^PATH=/m);
    } finally {
      delete process.env.XDEV_TEST_API_KEY;
    }
  });

  test("a user's abort while it is asked is no failure: it lives, and its late answer is dropped", async () => {
    using folder = new Folder();
    const body = `if [ ! -e ${folder.path}/second ]; then : > ${folder.path}/second; sleep 0.3; fi; ${ALLOW}`;
    await using loaded = await loadExtensions([folder.program("slow.sh", policy(body))]);
    const abort = new AbortController();
    const first = decideToolCall(
      loaded.manager.interceptors(),
      { tool: "bash", arguments: {}, callId: "c" },
      (args) => args,
      abort.signal,
    );
    abort.abort();
    assert.equal((await first).allow, false);
    assert.equal((await decide(loaded)).allow, true);
    assert.equal(loaded.manager.extensions[0]?.state, "ready");
  });
});
