/** The examples of the extensions guide run as they stand, in the sandbox of the compiled program. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Folder } from "../support/folder.ts";
import { xdev } from "../support/xdev.ts";
import { completed, GUIDE } from "./guide.ts";

/** Plays a script against a module, and fails with the report if it is not as the script says. */
async function play(module: string, script: string): Promise<void> {
  using folder = new Folder();
  const path = folder.file("guide.ts", module);
  folder.file("guide.test.yml", script);
  const outcome = await xdev(["ext", "test", path], { cwd: folder.path, env: { HOME: folder.path } });
  assert.equal(outcome.status, 0, outcome.stdout + outcome.stderr);
  assert.match(outcome.stdout, /^[1-9]\d* passed, 0 failed$/m);
}

describe("the guide's example", () => {
  test("quick start greets, blocks rm -rf, has a tool and a command", () =>
    play(
      GUIDE.quickStart,
      `registers: { tools: [hello_extension], commands: [hello-ext], events: [session_start, tool_call] }
steps:
  - expect: [{ notify: { contains: Extension loaded in /, level: info } }]
  - prompt: go
    model:
      - toolCalls: [{ name: hello_extension, arguments: { name: world } }, { name: bash, arguments: { command: rm -rf x } }]
      - text: done
    expect:
      - toolResult: { tool: hello_extension, isError: false, contains: "Hello, world", details: { greeted: world } }
      - blocked: { tool: bash, contains: Blocked by extension policy }
  - prompt: /hello-ext
    expect: [{ notify: pending=false }]
`,
    ));

  test("of a tool gives a partial result and a result", () =>
    play(
      GUIDE.tool,
      `registers: { tools: [my_tool] }
steps:
  - prompt: go
    model: [{ toolCalls: [{ name: my_tool }] }, { text: done }]
    expect:
      - record: { type: tool_execution_update, partialResult: { content: [{ type: text, text: Working... }] } }
      - toolResult: { tool: my_tool, isError: false, contains: Done }
      - not: { error: {} }
`,
    ));

  test("of state runs as it stands, and finds the last entry of its type in a session that goes on", async () => {
    await play(
      GUIDE.state,
      "registers: { events: [session_start] }\nsteps: [{ expect: [{ not: { error: {} } }] }]\n",
    );
    const kept = `pi.registerCommand("keep", { handler: async (args) => pi.appendEntry("my-state", { n: args }) });\n`;
    await play(
      completed("state", "ctx.ui.notify(`latest=${latest?.n}`);").replace("pi.on(", `${kept}pi.on(`),
      `allow: { session: [write] }
steps:
  - expect: [{ notify: latest=undefined }]
  - prompt: /keep one
  - prompt: /keep two
  - rpc: { type: prompt, message: hello }
    model: [{ text: hello }]
  - rpc: { type: clone }
    expect: [{ notify: latest=two }]
  - rpc: { type: new_session }
    expect: [{ notify: latest=undefined }]
`,
    );
  });

  test("of a renderer registers it, with nothing in it and with a component", async () => {
    const script =
      "registers: { messageRenderers: [my-type] }\nsteps: [{ expect: [{ not: { error: {} } }] }]\n";
    await play(GUIDE.renderer, script);
    await play(completed("renderer", "return new Text(String(message.content), 0, 0);"), script);
  });
});
