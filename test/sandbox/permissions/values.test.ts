/** Values have one normal form, and sets of them compare as their user would. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { looksSecret } from "../../../sandbox/permissions/danger.ts";
import { declarationOf, needingGrant } from "../../../sandbox/permissions/declaration.ts";
import { parsePermissionOptions } from "../../../sandbox/permissions/flags.ts";
import {
  difference,
  intersection,
  isEmpty,
  isSubset,
  KINDS,
  type Kind,
  listOf,
  type Permission,
  permissionsOf,
  union,
} from "../../../sandbox/permissions/permissions.ts";
import { permissionsSchema } from "../../../sandbox/permissions/schema.ts";
import { BadValue, coversValue, parseCommand, parseValue } from "../../../sandbox/permissions/values.ts";
import { parseManifest } from "../../../src/extensions/manifest.ts";

describe("a value", () => {
  for (const [kind, text, form] of [
    ["read", "$CWD/", "$CWD"],
    ["read", "$CWD//a/./b/", "$CWD/a/b"],
    ["read", "~", "$HOME"],
    ["write", "~/notes", "$HOME/notes"],
    ["read", "/a//b/", "/a/b"],
    ["read", "/", "/"],
    ["read", "*", "*"],
    ["net", "API.Example.com.", "api.example.com"],
    ["net", "example.com:443", "example.com:443"],
    ["net", "*.Example.com", "*.example.com"],
    ["net", "*:443", "*:443"],
    ["net", "0x7f.1:80", "127.0.0.1:80"],
    ["net", "::1", "::1"],
    ["net", "[::1]", "::1"],
    ["net", "[0:0::1]:80", "[::1]:80"],
    ["net", "bücher.example", "xn--bcher-kva.example"],
    ["run", "  git   status ", "git status"],
    ["run", 'git log "--format=%h %s"', 'git log "--format=%h %s"'],
    ["run", '"git" "log"', "git log"],
    ["env", "FOO_*", "FOO_*"],
    ["sys", "cpu", "cpu"],
  ] as const) {
    test(`${kind} ${text} is ${form}`, () => {
      assert.equal(parseValue(kind, text), form);
      assert.equal(parseValue(kind, form), form);
    });
  }

  const bad: [Kind, string[]][] = [
    [
      "read",
      [
        "",
        " ",
        "a",
        "./a",
        "../a",
        "$CWD/../a",
        "$OTHER",
        "$CWDx",
        "~user",
        "/a/../b",
        "$CWD/**",
        "/a/*",
        "/a\0b",
        "/a\nb",
        "/a\u202eb",
        "/a\u200bb",
        `/${"a".repeat(1001)}`,
      ],
    ],
    [
      "net",
      [
        "",
        "https://a.com",
        "a.com/x",
        "user@a.com",
        "a.com:0",
        "a.com:65536",
        "a.com:x",
        "*.",
        "*.1.2.3.4",
        "a.*.com",
        "**.com",
        "*a.com",
        "[::1",
        "::1]:80",
        "a b",
      ],
    ],
    ["run", ["", '"', 'a"b', 'git "log', "* -c", '""']],
    ["env", ["", "A B", "A=B", "*A", "A*B", "1A", "A-B"]],
    ["sys", ["", "disk"]],
    ["session", ["delete"]],
    ["tools", ["", "a b", "../x"]],
    ["model", ["yes", ""]],
  ];
  for (const [kind, texts] of bad) {
    for (const text of texts) {
      test(`${kind} ${JSON.stringify(text.slice(0, 30))} is refused`, () =>
        assert.throws(() => parseValue(kind, text), BadValue));
    }
  }

  test("of the command line may be relative to the folder of its user", () => {
    const option = (kind: Kind) => `--allow-${kind}`;
    assert.deepEqual(
      parsePermissionOptions({ read: ["src", "../x", "~/y"], net: ["a.com"] }, "/w/p", option),
      {
        read: ["$HOME/y", "/w/p/src", "/w/x"],
        net: ["a.com"],
      },
    );
    assert.throws(
      () => parsePermissionOptions({ net: ["http://a"] }, "/", option),
      /--allow-net: "http:\/\/a" must be a host, not a URL/,
    );
  });

  test("of a command comes back as the words that it was made of", () => {
    const word = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter((text) => !/[\u0000-\u001f\u007f]/.test(text));
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 4 }).filter(([first]) => first !== "*"),
        (words) => {
          const text = words.map((one) => `"${one.replace(/["\\]/g, "\\$&")}"`).join(" ");
          assert.deepEqual(parseCommand(text), words);
        },
      ),
    );
  });
});

const permission: fc.Arbitrary<Permission> = fc.oneof(
  fc.record({
    kind: fc.constantFrom<Kind>("read", "write"),
    value: fc.constantFrom("*", "$CWD", "$CWD/a", "$CWD/a/b", "$CWD/ab", "$HOME", "/", "/a", "/a/b"),
  }),
  fc.record({
    kind: fc.constant<Kind>("net"),
    value: fc.constantFrom(
      "*",
      "*:443",
      "a.com",
      "a.com:443",
      "*.a.com",
      "x.a.com",
      "x.a.com:80",
      "*.x.a.com",
      "localhost",
      "10.0.0.1",
    ),
  }),
  fc.record({
    kind: fc.constant<Kind>("run"),
    value: fc.constantFrom("*", "git", "git log", "git log -1", "sh", "bash -c"),
  }),
  fc.record({ kind: fc.constant<Kind>("env"), value: fc.constantFrom("*", "A*", "AB", "ABC", "B") }),
  fc.record({ kind: fc.constantFrom<Kind>("model", "provider", "wasm"), value: fc.constant("*") }),
);
const set = fc.array(permission, { maxLength: 6 }).map(permissionsOf);

describe("sets of permissions", () => {
  test("compare as sets do", () => {
    fc.assert(
      fc.property(set, set, set, (a, b, c) => {
        assert.ok(isSubset(a, a));
        assert.ok(isSubset(a, union(a, b)));
        assert.ok(isEmpty(difference(a, union(a, b))));
        assert.equal(isEmpty(difference(a, b)), isSubset(a, b));
        assert.ok(isSubset(a, union(difference(a, b), b)));
        assert.ok(isSubset(intersection(a, b), b));
        if (isSubset(a, b) && isSubset(b, c)) assert.ok(isSubset(a, c), JSON.stringify([a, b, c]));
        assert.deepEqual(permissionsOf(listOf(a)), a);
      }),
    );
  });

  test("take nothing for contained that is not", () => {
    const no: [Kind, string, string][] = [
      ["read", "$CWD/a", "$CWD/ab"],
      ["read", "$CWD", "$HOME"],
      ["read", "$CWD/a", "$CWD"],
      ["net", "a.com", "x.a.com"],
      ["net", "*.a.com", "a.com"],
      ["net", "*.a.com", "*"],
      ["net", "a.com:80", "a.com"],
      ["net", "*", "localhost"],
      ["net", "*", "*.localhost"],
      ["net", "*", "*.internal:80"],
      ["net", "*", "*.home.arpa"],
      ["net", "*", "127.0.0.1"],
      ["net", "*:443", "a.com:80"],
      ["run", "*", "sh"],
      ["run", "*", "/usr/bin/bash"],
      ["run", "git", "gitk"],
      ["run", "git log", "git"],
      ["env", "A", "AB"],
      ["session", "read", "write"],
    ];
    for (const [kind, own, wanted] of no)
      assert.ok(!coversValue(kind, own, wanted), `${kind} ${own} ${wanted}`);
  });
});

describe("a declaration", () => {
  const declare = (permissions: unknown) => declarationOf(permissionsSchema.parse(permissions));

  test("has short and long forms", () => {
    const { permissions, reasons } = declare({
      read: ["~/notes", { paths: ["$CWD"], reason: "to look" }],
      net: { hosts: ["a.com", "B.com"], reason: "to ask" },
      model: true,
      provider: false,
      wasm: { reason: "fast" },
      session: ["read", "write"],
      sys: { values: ["cpu"] },
    });
    assert.deepEqual(permissions, {
      read: ["$CWD", "$HOME/notes"],
      net: ["a.com", "b.com"],
      sys: ["cpu"],
      model: ["*"],
      session: ["read", "write"],
      wasm: ["*"],
    });
    assert.equal(reasons.get("read $CWD"), "to look");
    assert.equal(reasons.get("net b.com"), "to ask");
    assert.equal(reasons.get("wasm *"), "fast");
    assert.equal(reasons.get("read $HOME/notes"), undefined);
  });

  test("has every kind in its schema", () => {
    assert.deepEqual(Object.keys(permissionsSchema.shape).sort(), [...KINDS].sort());
  });

  test("needs no grant for its own storage, for ui and for reading the session", () => {
    const all = declare({
      ui: true,
      session: ["read", "write"],
      read: ["$DATA", "$DATA/x", "$CWD"],
      write: ["$DATA"],
    });
    assert.deepEqual(needingGrant(all.permissions), { read: ["$CWD"], session: ["write"] });
  });

  for (const [what, value, message] of [
    ["a kind that there is not", { reads: ["$CWD"] }, /permissions: Unrecognized key: "reads"/],
    ["a path that is relative", { read: ["x"] }, /permissions\.read\.0: must be absolute/],
    [
      "a URL",
      { net: { hosts: ["http://x"], reason: "y" } },
      /permissions\.net\.hosts\.0: must be a host, not a URL/,
    ],
    [
      "a text in the place of a list",
      { read: "$CWD" },
      /permissions\.read: must be a list of texts, or \{"paths"/,
    ],
    ["a reason of a page", { model: { reason: "x".repeat(301) } }, /permissions\.model/],
    ["hidden characters", { run: ["git\u202e"] }, /permissions\.run\.0: has invisible/],
    [
      "a word that is none",
      { session: ["write", "delete"] },
      /permissions\.session\.1: "delete" must be one of read, write/,
    ],
    ["a * for facts", { sys: ["*"] }, /permissions\.sys\.0: "\*" must be one of hostname, user, cpu, memory/],
    ["a thousand entries", { env: new Array(1000).fill("A") }, /permissions\.env/],
  ] as const) {
    test(`is refused with ${what}, and says so`, () => {
      assert.throws(
        () => parseManifest(JSON.stringify({ xdev: { permissions: value } }), "package.json"),
        message,
      );
    });
  }

  test("in the wrong place is said, and another tool's member of that name is none", () => {
    const parse = (content: unknown) => parseManifest(JSON.stringify(content), "package.json");
    assert.throws(() => parse({ permissions: { read: ["$CWD"] } }), /permissions: it belongs under "xdev"/);
    assert.throws(() => parse({ xdev: { extension: ["./x.ts"] } }), /xdev\.extension: .*called extensions/);
    for (const other of [{ permissions: { camera: true } }, { permissions: ["tabs"] }])
      assert.deepEqual(parse(other), {});
  });

  test("of another agent under its own name means nothing", () => {
    assert.deepEqual(parseManifest(JSON.stringify({ pi: { permissions: "all" } }), "package.json"), {});
  });
});

test("names of variables that look like secrets are known", () => {
  for (const name of [
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "DB_PASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "GH_PAT",
    "SESSION_COOKIE",
    "DATABASE_URL",
    "*",
    "FOO_*",
  ]) {
    assert.ok(looksSecret(name), name);
  }
  for (const name of ["HOME", "PWD", "EDITOR", "LANG", "SSH_AUTH_SOCK", "XDG_SESSION_TYPE", "PATH"])
    assert.ok(!looksSecret(name), name);
});
