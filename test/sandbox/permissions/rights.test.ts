/** Each request is decided once, by the same order; who is asked is asked once, and no more than he can bear. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { CallError, type Folders } from "../../../sandbox/broker/broker.ts";
import { type Answer, MAX_DENIALS, type Question } from "../../../sandbox/permissions/asker.ts";
import type { Decision } from "../../../sandbox/permissions/audit.ts";
import type { Permission, Permissions } from "../../../sandbox/permissions/permissions.ts";
import type { Request } from "../../../sandbox/permissions/request.ts";
import { createRights, type RightsOptions } from "../../../sandbox/permissions/rights.ts";
import { Folder } from "../../support/folder.ts";

const FOLDERS: Folders = {
  home: "/home/u",
  cwd: "/home/u/work",
  tmp: "/tmp",
  dataDir: "/home/u/.xdev/agent",
  data: "/home/u/.xdev/agent/storage/foo",
};
const read = (path: string): Request => ({ kind: "read", path });
const net = (host: string, port = 443): Request => ({ kind: "net", host, port });

/** Rights, and what they asked, kept and recorded. */
async function rightsOf(
  options: Partial<RightsOptions>,
  answer?: (question: Question) => Answer | Promise<Answer>,
) {
  const questions: Question[] = [];
  const kept: ["granted" | "denied", Permission][] = [];
  const decisions: Decision[] = [];
  const ask = async (question: Question): Promise<Answer> => {
    questions.push(question);
    return answer?.(question) ?? "deny";
  };
  const rights = await createRights({
    extension: "foo",
    folders: FOLDERS,
    searchPath: "",
    granted: {},
    denied: {},
    remember: async (...one) => void kept.push(one),
    audit: { record: (decision) => void decisions.push(decision), close: async () => {} },
    ...(answer ? { asker: { ask } } : {}),
    ...options,
  });
  const may = (request: Request): Promise<boolean> =>
    rights.demand(request).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof CallError && error.code === "EACCES", String(error));
        return false;
      },
    );
  return { rights, may, questions, kept, decisions };
}

describe("the order", () => {
  test("is the floor, the command line, denials for good, grants, the user", async () => {
    const { may, questions, decisions } = await rightsOf(
      {
        granted: { read: ["$HOME"], env: ["A"] },
        denied: { read: ["$CWD"], net: ["a.com"] },
        flags: { read: ["$CWD/open"] },
      },
      () => "once",
    );
    assert.equal(await may(read("/home/u/.xdev/agent/trust.json")), false);
    assert.equal(await may(read("/home/u/work/open/x")), true);
    assert.equal(await may(read("/home/u/work/x")), false);
    assert.equal(await may(read("/home/u/x")), true);
    assert.equal(await may(net("a.com")), false);
    assert.equal(questions.length, 0);
    assert.equal(await may(net("b.com")), true);
    assert.equal(questions.length, 1);
    assert.deepEqual(
      decisions.map(({ by, allowed, what }) => [by, allowed, what]),
      [
        ["floor", false, "/home/u/.xdev/agent/trust.json"],
        ["flag", true, "/home/u/work/open/x"],
        ["never", false, "/home/u/work/x"],
        ["grant", true, "/home/u/x"],
        ["never", false, "a.com:443"],
        ["user", true, "b.com:443"],
      ],
    );
  });

  test("leaves its own storage and reading the session free, and nothing else", async () => {
    const { may, rights } = await rightsOf({});
    assert.equal(await may({ kind: "write", path: `${FOLDERS.data}/x` }), true);
    assert.equal(await may({ kind: "session", access: "read" }), true);
    const others: Request[] = [
      { kind: "session", access: "write" },
      { kind: "model" },
      { kind: "provider" },
      { kind: "wasm" },
      { kind: "tools", name: "bash" },
      { kind: "sys", what: "cpu" },
      { kind: "env", name: "HOME" },
      { kind: "run", name: "ls", path: "/bin/ls", args: [] },
      read("/home/u/work/x"),
      net("a.com"),
    ];
    for (const request of others) {
      assert.equal(rights.has(request), false);
      assert.equal(await may(request), false, JSON.stringify(request));
    }
  });

  test("keeps the folders around what it denies in their places, too", async () => {
    using folder = new Folder();
    const at = (...names: string[]) => join(folder.path, ...names);
    folder.file("disk/agent/sessions.txt", "");
    folder.file("home/dots/sessions/1", "");
    symlinkSync(at("home/dots/sessions"), at("disk/agent/sessions"));
    symlinkSync(at("disk"), at("home/.xdev"));
    const { rights, may } = await rightsOf({
      folders: {
        ...FOLDERS,
        home: at("home"),
        dataDir: at("disk/agent"),
        data: at("disk/agent/storage/foo"),
      },
      dataDir: at("home/.xdev/agent"),
      granted: { read: ["$HOME"], write: ["$HOME"] },
      denied: { read: ["$HOME/notes/private"] },
    });
    const kept = ["home", "home/notes", "home/notes/private", "home/dots", "home/.xdev", "disk"];
    for (const path of kept) assert.ok(rights.keepsBelow?.(at(path)), path);
    for (const path of ["home/notes/x", "home/other", "home/not"])
      assert.ok(!rights.keepsBelow?.(at(path)), path);
    assert.equal(await may({ kind: "write", path: at("home/.xdev") }), false);
    assert.equal(await may({ kind: "write", path: at("home/other") }), true);
  });

  test("allows everything for one run but the floor, shells and addresses that are not public", async () => {
    const { may } = await rightsOf({ allowAll: true });
    for (const request of [
      read("/etc/passwd"),
      net("a.com"),
      { kind: "wasm" },
      { kind: "env", name: "TOKEN" },
    ] as Request[]) {
      assert.equal(await may(request), true);
    }
    const no: Request[] = [
      read("/proc/self/environ"),
      read("/home/u/.xdev/agent/permissions.json"),
      { kind: "net-address", host: "a.com", address: "169.254.169.254", port: 80 },
      { kind: "run", name: "sh", path: "/bin/sh", args: [] },
    ];
    for (const request of no) assert.equal(await may(request), false, JSON.stringify(request));
  });
});

describe("a refusal", () => {
  const refused = async (options: Partial<RightsOptions>, request: Request, answer?: Answer) => {
    const { rights } = await rightsOf(options, answer && (() => answer));
    return rights.demand(request).then(
      () => assert.fail("allowed"),
      (error: Error) => error.message,
    );
  };

  test("says which flag and which command would allow it", async () => {
    assert.equal(
      await refused({}, read("/home/u/it's here")),
      `EACCES: permission denied: extension foo may not read /home/u/it's here (to allow it: --allow-read='/home/u/it'\\''s here' for one run, or xdev ext grant foo --read='/home/u/it'\\''s here')`,
    );
    assert.match(
      await refused({}, net("a.com")),
      /--allow-net=a\.com:443 for one run, or xdev ext grant foo --net=a\.com:443/,
    );
    assert.match(
      await refused({}, { kind: "net-address", host: "a.com", address: "fd00::1", port: 80 }),
      /a\.com, which is not a public address \(to allow it: --allow-net='\[fd00::1\]:80'/,
    );
    assert.match(
      await refused({}, { kind: "run", name: "git", path: "/usr/bin/git", args: ["x"] }),
      /--allow-run=git /,
    );
    assert.match(
      await refused({ grantName: "/x y/foo.ts" }, { kind: "model" }),
      /--allow-all='\/x y\/foo\.ts' for one run, or xdev ext grant '\/x y\/foo\.ts' --model\)/,
    );
    assert.match(await refused({}, { kind: "session", access: "write" }), /grant foo --session=write/);
  });

  test("says so when no permission helps, when it was denied for good, and when the user said no", async () => {
    assert.match(await refused({}, read("/proc/self/mem")), /no permission can allow this/);
    assert.match(
      await refused({ denied: { net: ["a.com"] } }, net("a.com")),
      /denied it for good; xdev ext revoke foo --net=a\.com:443/,
    );
    assert.match(await refused({}, net("a.com"), "deny"), /its user said no/);
  });

  test("names the path as the extension wrote it, and not where its links lead", async () => {
    const message = await refused({}, { kind: "read", path: "/home/u/secret/place", written: "./link" });
    assert.match(message, /may not read \.\/link \(to allow it: --allow-read=\.\/link/);
    assert.doesNotMatch(message, /secret/);
  });
});

describe("the user", () => {
  test("is asked once for what was granted once, and again the next time", async () => {
    const { may, questions, kept } = await rightsOf({}, () => "once");
    assert.equal(await may(net("a.com")), true);
    assert.equal(await may(net("a.com")), true);
    assert.equal(questions.length, 2);
    assert.deepEqual(kept, []);
  });

  for (const [answer, allowed, keeps] of [
    ["session", true, []],
    ["always", true, [["granted", { kind: "read", value: "/etc/x" }]]],
    ["never", false, [["denied", { kind: "read", value: "/etc/x" }]]],
  ] as const) {
    test(`is asked once for what he answers with ${answer}`, async () => {
      const { may, rights, questions, kept } = await rightsOf({}, () => answer);
      assert.equal(await may(read("/etc/x")), allowed);
      assert.equal(await may(read("/etc/x")), allowed);
      assert.equal(rights.has(read("/etc/x")), allowed);
      assert.equal(rights.has(read("/etc/y")), false);
      assert.equal(questions.length, 1);
      assert.deepEqual(kept, keeps);
    });
  }

  test("is asked one thing at a time, and the same thing once", async () => {
    let open = 0;
    const { may, questions } = await rightsOf({}, async (): Promise<Answer> => {
      assert.equal(++open, 1);
      await new Promise((resolve) => setImmediate(resolve));
      open--;
      return "once";
    });
    const all = [net("a.com"), net("b.com"), net("a.com"), net("b.com"), read("/etc/x")].map(may);
    assert.deepEqual(await Promise.all(all), [true, true, true, true, true]);
    assert.equal(questions.length, 3);
  });

  test("is not asked what an earlier answer has decided meanwhile", async () => {
    const { may, questions } = await rightsOf({}, () => "always");
    assert.deepEqual(await Promise.all([read("/etc"), read("/etc/x"), read("/etc/y")].map(may)), [
      true,
      true,
      true,
    ]);
    assert.equal(questions.length, 1);
  });

  test("is asked about a program with its arguments, and answers for the program", async () => {
    const run = (...args: string[]): Request => ({ kind: "run", name: "git", path: "/usr/bin/git", args });
    const { may, questions, kept } = await rightsOf({}, ({ request }) =>
      request.kind === "run" && request.args[0] === "push" ? "once" : "always",
    );
    assert.equal(await may(run("push")), true);
    assert.equal(await may(run("status")), true);
    assert.equal(await may(run("log")), true);
    assert.equal(questions.length, 2);
    assert.deepEqual(kept, [["granted", { kind: "run", value: "git" }]]);
  });

  test("answers for what is declared, where that covers the request and is not more dangerous", async () => {
    const run = (...args: string[]): Request => ({ kind: "run", name: "git", path: "/usr/bin/git", args });
    const declared: Permissions = {
      run: ["*", "git --version", "git log"],
      read: ["*", "$HOME", "$HOME/notes"],
      net: ["*", "*.example.com", "api.example.com"],
    };
    const { may, questions, kept, rights } = await rightsOf({ declared }, () => "always");
    const requests = [
      run("--version"),
      run("push"),
      read("/home/u/notes/one.txt"),
      read("/home/u/other.txt"),
      net("api.example.com"),
      net("b.example.com"),
      net("c.org"),
    ];
    for (const request of requests.slice(0, 1)) assert.ok(await may(request));
    assert.ok(rights.has(run("--version", "--more")));
    assert.ok(!rights.has(run("push")));
    for (const request of requests.slice(1)) assert.ok(await may(request));
    assert.deepEqual(
      kept.map(([, { value }]) => value),
      [
        "git --version",
        "git",
        "$HOME/notes",
        "/home/u/other.txt",
        "api.example.com",
        "*.example.com",
        "c.org:443",
      ],
    );
    assert.equal(questions.length, requests.length);
    assert.ok(rights.has(read("/home/u/notes/two.txt")));
    assert.ok(rights.has(net("api.example.com", 80)));
    assert.ok(!rights.has(read("/home/u/third.txt")));
  });

  test("who says yes once has said it to that request alone, whatever is declared around it", async () => {
    const { may, questions } = await rightsOf({ declared: { read: ["$HOME/notes"] } }, () => "once");
    await Promise.all([read("/home/u/notes/1"), read("/home/u/notes/2")].map(may));
    assert.equal(questions.length, 2);
  });

  test("who says never to what is declared is told how to lift just that", async () => {
    const { rights, kept } = await rightsOf({ declared: { run: ["git --version"] } }, () => "never");
    const request: Request = { kind: "run", name: "git", path: "/usr/bin/git", args: ["--version"] };
    await rights.demand(request).catch(() => {});
    assert.deepEqual(kept, [["denied", { kind: "run", value: "git --version" }]]);
    await assert.rejects(rights.demand(request), /xdev ext revoke foo --run='git --version' lifts that/);
  });

  test("who is not there is told to allow what is declared, by the path that was written and no link's target", async () => {
    const { rights } = await rightsOf({
      declared: { run: ["git --version"], read: ["$HOME/notes", "$CWD/x"] },
    });
    const run: Request = { kind: "run", name: "git", path: "/usr/bin/git", args: ["--version"] };
    await assert.rejects(
      rights.demand(run),
      /--allow-run='git --version' for one run, or xdev ext grant foo --run='git --version'/,
    );
    await assert.rejects(rights.demand({ ...run, args: ["push"] }), /xdev ext grant foo --run=git\)/);
    const path = "/home/u/notes/one.txt";
    await assert.rejects(
      rights.demand({ kind: "read", path, written: path }),
      /ext grant foo --read=~\/notes\)/,
    );
    await assert.rejects(
      rights.demand({ kind: "read", path, written: "/home/u/work/link" }),
      /ext grant foo --read=\/home\/u\/work\/link\)/,
    );
  });

  test("who allows localhost is not asked again for the addresses of that connection", async () => {
    const { may, questions } = await rightsOf({}, () => "once");
    assert.equal(await may(net("localhost", 3000)), true);
    for (const address of ["::1", "127.0.0.1"]) {
      assert.equal(await may({ kind: "net-address", host: "localhost", address, port: 3000 }), true);
    }
    assert.equal(questions.length, 1);
    assert.equal(
      await may({ kind: "net-address", host: "localhost", address: "127.0.0.1", port: 3001 }),
      true,
    );
    assert.equal(questions.length, 2);
  });

  test("who allows a name is asked for an address of his own network that it leads to", async () => {
    const { may, questions } = await rightsOf({}, () => "once");
    assert.equal(await may(net("evil.com", 80)), true);
    assert.equal(await may({ kind: "net-address", host: "evil.com", address: "10.0.0.1", port: 80 }), true);
    assert.deepEqual(
      questions.map(({ permission }) => permission.value),
      ["evil.com:80", "10.0.0.1:80"],
    );
  });

  test("is left alone after some denials, whatever else is asked for", async () => {
    const { may, questions, decisions } = await rightsOf({}, () => "deny");
    for (let index = 0; index < 20; index++) assert.equal(await may(net(`h${index}.com`)), false);
    assert.equal(questions.length, MAX_DENIALS);
    assert.equal(decisions.at(-1)?.by, "flood");
  });

  test("is never faced with a pile of questions", async () => {
    const { may, questions } = await rightsOf({}, () => "deny");
    const all = Array.from({ length: 200 }, (_, index) => may(net(`h${index}.com`)));
    assert.ok((await Promise.all(all)).every((allowed) => !allowed));
    assert.equal(questions.length, MAX_DENIALS);
  });

  test("who ends the question, or the session, has denied", async () => {
    const failing = await rightsOf({}, () => Promise.reject(new Error("the terminal is gone")));
    assert.equal(await failing.may(net("a.com")), false);
    const ending = new AbortController();
    ending.abort();
    const ended = await rightsOf({ signal: ending.signal }, () => "always");
    assert.equal(await ended.may(net("a.com")), false);
    assert.equal(ended.questions.length, 0);
  });

  test("is waited for with the extension's clock at a stand", async () => {
    const clock: string[] = [];
    const { may } = await rightsOf(
      { onWaiting: (isWaiting) => void clock.push(isWaiting ? "stop" : "go") },
      () => {
        clock.push("asked");
        return "once";
      },
    );
    await Promise.all([may(net("a.com")), may(net("b.com"))]);
    await may(read("/home/u/.xdev/agent/storage/foo/x"));
    assert.deepEqual(clock, ["stop", "asked", "asked", "go"]);
  });

  test("grants a link of another name than its program's for the session only", async () => {
    const { may, questions, kept } = await rightsOf({}, () => "always");
    const run: Request = { kind: "run", name: "/tmp/x/ls", path: "/bin/busybox", args: [] };
    assert.equal(await may(run), true);
    assert.equal(questions[0]?.lasting, false);
    assert.deepEqual(kept, []);
    assert.equal(await may({ ...run, name: "/tmp/x/sh" }), true);
    assert.equal(questions.length, 2, "not covered by the first");
  });
});

test("what can't be one request is refused without a question", async () => {
  const { may, questions } = await rightsOf(
    { granted: { env: ["*"], read: ["*"] } as Permissions },
    () => "always",
  );
  const odd: Request[] = [
    read("relative"),
    read("/a\0b"),
    { kind: "env", name: "A=B" },
    { kind: "env", name: "A*" },
    net("*"),
    net("A.com"),
    net("a.com", 0),
    { kind: "tools", name: "*" },
  ];
  for (const request of odd) assert.equal(await may(request), false, JSON.stringify(request));
  assert.equal(questions.length, 0);
});
