/** The host's packages under every name of the family: whichever an extension imports, it gets the one module. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { moduleKind } from "../../../sandbox/bundle/modules.ts";
import { guestSourceName } from "../../../sandbox/guest/source-names.ts";
import { loadExtensions } from "../../support/extensions.ts";
import { Folder } from "../../support/folder.ts";

const NAMES: Readonly<Record<string, readonly string[]>> = {
  "pi-coding-agent": [
    "xdev",
    "@f5-sales-demo/xcsh",
    "@f5-sales-demo/xcsh/hooks",
    "@earendil-works/pi-coding-agent",
    "@mariozechner/pi-coding-agent",
    "@oh-my-pi/pi-coding-agent",
    "@mariozechner/pi-coding-agent/hooks",
    "@oh-my-pi/pi-coding-agent/extensibility/hooks",
    "@mariozechner/pi-coding-agent/dist/modes/interactive/theme/theme.js",
  ],
  "pi-ai": [
    "@earendil-works/pi-ai",
    "@mariozechner/pi-ai",
    "@oh-my-pi/pi-ai",
    "@earendil-works/pi-ai/compat",
    "@mariozechner/pi-ai/oauth",
    "@mariozechner/pi-ai/dist/models.js",
    "@earendil-works/pi-ai/providers/all",
    "@earendil-works/pi-ai/utils/event-stream",
  ],
  "pi-tui": [
    "@earendil-works/pi-tui",
    "@mariozechner/pi-tui",
    "@oh-my-pi/pi-tui",
    "@mariozechner/pi-tui/dist/components/text.js",
    "@oh-my-pi/pi-tui/autocomplete",
  ],
  "pi-agent-core": [
    "@earendil-works/pi-agent-core",
    "@mariozechner/pi-agent-core",
    "@oh-my-pi/pi-agent-core",
    "@mariozechner/pi-agent",
    "@oh-my-pi/pi-agent-core/compaction",
  ],
  "pi-utils": ["@oh-my-pi/pi-utils", "@oh-my-pi/pi-utils/logger"],
  typebox: ["typebox"],
  "typebox/format": ["typebox/format"],
  "@sinclair/typebox/errors": ["@sinclair/typebox/errors"],
  "typebox/value": ["typebox/value"],
  "typebox/compile": ["typebox/compile", "typebox/compiler"],
  "@sinclair/typebox": ["@sinclair/typebox"],
  "@sinclair/typebox/value": ["@sinclair/typebox/value"],
  "@sinclair/typebox/compiler": ["@sinclair/typebox/compiler"],
  zod: ["zod", "zod/v4"],
};

const STRANGERS = [
  "@earendil-works/pi-mcp",
  "@earendil-works",
  "@oh-my-pi/subagents",
  "@mallory/pi-ai",
  "@mallory/xdev",
  "@f5-sales-demo/other",
  "xdev-tools",
  "@earendil-works/constructor",
  "@earendil-works/pi-ai-extras",
];

describe("packages of the host", () => {
  test("every name of the family means the one module, and an extension's own copy of it is never taken", () => {
    for (const [name, specifiers] of Object.entries(NAMES)) {
      for (const specifier of specifiers) {
        assert.equal(guestSourceName(specifier), name, specifier);
        if (name !== "zod") assert.equal(moduleKind(specifier), "external", specifier);
      }
    }
  });

  test("a package that only sounds like one of the host's is the extension's own affair", () => {
    for (const specifier of STRANGERS) {
      assert.equal(guestSourceName(specifier), undefined, specifier);
      assert.equal(moduleKind(specifier), "package", specifier);
    }
  });

  test("in the sandbox all names of a package are the same module, by import and by require", async () => {
    using folder = new Folder();
    const groups = Object.values(NAMES);
    const imports = groups.flatMap((group, at) =>
      group.map((specifier, i) => `import * as m${at}_${i} from ${JSON.stringify(specifier)};`),
    );
    const lists = groups.map((group, at) => `[${group.map((_, i) => `m${at}_${i}`).join()}]`);
    const file = folder.file(
      "names.js",
      `${imports.join("\n")}
      const groups = [${lists.join()}];
      const names = ${JSON.stringify(groups)};
      export default (pi) => {
        const keys = groups.map((group) => Object.keys(group[0]).length);
        const same = groups.map((group) => group.every((one) => Object.keys(one).every((key) => one[key] === group[0][key])));
        const required = [
          require("@mariozechner/pi-ai") === require("@oh-my-pi/pi-ai"),
          require("xdev") === require("@earendil-works/pi-coding-agent/hooks"),
          require("xdev").default === pi,
          require("xdev") === pi.pi,
          typeof require("zod").z.object,
          Object.keys(require("typebox/value")).length > 10,
        ];
        pi.registerTool({ name: "names", label: JSON.stringify({ same, empty: keys.filter((n) => n === 0).length, required }), parameters: {}, execute() {} });
      };`,
    );
    const { manager } = await loadExtensions([file]);
    try {
      assert.deepEqual(
        manager.failures().map(({ reason }) => reason),
        [],
      );
      const { same, required } = JSON.parse(manager.tools([])[0]!.label ?? "") as {
        same: boolean[];
        required: unknown[];
      };
      assert.deepEqual(
        same,
        groups.map(() => true),
      );
      assert.deepEqual(required, [true, true, true, true, "function", true]);
    } finally {
      await manager.stop();
    }
  });
});
