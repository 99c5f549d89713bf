import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { EXTENSION_EVENTS } from "../../../src/agent/extension-events.ts";
import { EVENT_RESULTS } from "../../../src/agent/extension-results.ts";
import { API_EVENTS } from "../../../src/extensions/frame.ts";

/** The events of the extension API, in the order of its table. */
const SPECIFIED = [
  "session_start",
  "session_before_switch",
  "session_switch",
  "session_before_branch",
  "session_before_fork",
  "session_branch",
  "session_fork",
  "session_before_compact",
  "session.compacting",
  "session_compact",
  "session_before_tree",
  "session_tree",
  "session_shutdown",
  "input",
  "before_agent_start",
  "context",
  "before_provider_request",
  "after_provider_response",
  "provider_stream_event",
  "agent_start",
  "agent_end",
  "turn_start",
  "turn_end",
  "message_start",
  "message_update",
  "message_end",
  "tool_call",
  "tool_result",
  "tool_execution_start",
  "tool_execution_update",
  "tool_execution_end",
  "model_select",
  "thinking_level_select",
  "auto_compaction_start",
  "auto_compaction_end",
  "auto_retry_start",
  "auto_retry_end",
  "ttsr_triggered",
  "todo_reminder",
  "user_bash",
  "user_python",
  "resources_discover",
];

/** Those of which the table names a result, beyond the tool events' own. */
const WITH_RESULT = [
  "session_before_switch",
  "session_before_branch",
  "session_before_compact",
  "session.compacting",
  "session_before_tree",
  "input",
  "before_agent_start",
  "context",
  "before_provider_request",
  "message_end",
  "user_bash",
  "user_python",
  "resources_discover",
];

/** What others of this family send besides, and we do, too. */
const MORE = [
  "session_info_changed",
  "session_compact_failed",
  "agent_settled",
  "ui_prompt_start",
  "ui_prompt_end",
];
SPECIFIED.push(...MORE);

describe("the events of the extension API", () => {
  test("are all there, and no others", () => {
    assert.deepEqual(Object.keys(EXTENSION_EVENTS).sort(), [...SPECIFIED].sort());
    assert.deepEqual([...API_EVENTS].sort(), [...SPECIFIED].sort());
  });

  test("each have a place where they are told, and the file names them", async () => {
    const agent = new URL("../../../src/agent/", import.meta.url);
    for (const [name, { at, kind }] of Object.entries(EXTENSION_EVENTS)) {
      const text = await readFile(fileURLToPath(new URL(at, agent)), "utf8");
      // What decides about tools goes through the chain.
      const site = kind === "policy" ? (name === "tool_call" ? "decideToolCall" : "patchToolResult") : name;
      assert.ok(text.includes(site), `${at} has no ${name}`);
    }
  });

  test("have a schema for every result", () => {
    assert.deepEqual(Object.keys(EVENT_RESULTS).sort(), [...WITH_RESULT].sort());
    for (const [name, { kind }] of Object.entries(EXTENSION_EVENTS)) {
      const isAsked = kind !== "notify" && kind !== "policy" && name !== "session_before_fork";
      assert.equal(isAsked, WITH_RESULT.includes(name), name);
    }
  });
});

test("the manual has every event", async () => {
  const text = await readFile(new URL("../../../src/docs/api.md", import.meta.url), "utf8");
  for (const name of SPECIFIED) {
    const start = name.replace(/_(?:update|end)$/, "");
    assert.ok(text.includes(`\`${name}\``) || text.includes(`\`${start}_start\`, \`_`), name);
  }
});
