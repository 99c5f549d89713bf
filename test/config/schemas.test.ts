import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { jsonSchemas } from "../../src/config/json-schemas.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { DEFAULT_SETTINGS, loadSettings } from "../../src/config/settings.ts";
import { Folder } from "../support/folder.ts";

describe("configuration", () => {
  test("without a file the settings are the schema's defaults", async () => {
    using folder = new Folder();
    assert.deepEqual(await loadSettings(folder.path), DEFAULT_SETTINGS);
    assert.deepEqual(settingsSchema.parse({}), DEFAULT_SETTINGS);
    folder.file("config.yml", "");
    assert.deepEqual(await loadSettings(folder.path), DEFAULT_SETTINGS);
  });

  test("limits can be set for all extensions and for one", async () => {
    using folder = new Folder();
    folder.file(
      "config.yml",
      "extensionHost:\n  eventTimeoutMs: 100\n  overrides:\n    slow: {eventTimeoutMs: 900}\n",
    );
    const { extensionHost } = await loadSettings(folder.path);
    assert.equal(extensionHost.eventTimeoutMs, 100);
    assert.equal(extensionHost.handshakeTimeoutMs, 10_000);
    assert.deepEqual(extensionHost.overrides, { slow: { eventTimeoutMs: 900 } });
  });

  test("a file that is wrong is an error with its line and what was meant", async () => {
    using folder = new Folder();
    for (const [text, reason] of [
      [
        "extensionHost:\n  eventTimoutMs: 5\n",
        /config\.yml:2: extensionHost\.eventTimoutMs: unknown key.*eventTimeoutMs/,
      ],
      ["extensionHost:\n  eventTimeoutMs: 0\n", /config\.yml:2: /],
      ["- a list", /config\.yml:1: /],
      ["a: [", /config\.yml:/],
    ] as const) {
      folder.file("config.yml", text);
      await assert.rejects(loadSettings(folder.path), reason, text);
    }
  });

  test("a JSON Schema of each file is generated from what checks it", async () => {
    const schemas = await jsonSchemas();
    assert.deepEqual(Object.keys(schemas).sort(), ["config", "hook", "manifest", "models", "replay", "test"]);
    for (const [name, schema] of Object.entries(schemas)) {
      assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema", name);
    }
    assert.ok(JSON.stringify(schemas.config).includes("eventTimeoutMs"));
    assert.ok(JSON.stringify(schemas.models).includes("defaultModel"));
  });
});
