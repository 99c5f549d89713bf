/** Who may be a model provider, under which name, with which key; and logins, which are kept for whoever got them. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { describe, test } from "node:test";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { redact } from "../../src/base/log.ts";
import type { LoginQuestion } from "../../src/extensions/provider-calls.ts";
import { CredentialStore } from "../../src/models/credentials.ts";
import { resolveModel } from "../../src/models/index.ts";
import { guestProvider } from "../fixtures/guest-provider.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { Folder } from "../support/folder.ts";
import { type GuestOptions, GuestProviders } from "../support/guest-providers.ts";

const textOf = ({ content }: { content: readonly { type: string }[] }) =>
  content.map((part) => (part as { text?: string }).text ?? "").join("");

/** A module with one statement: the registration of a provider. */
const registers = (name: string, config: string) =>
  `export default (pi) => { pi.registerProvider(${JSON.stringify(name)}, ${config}); };`;

const onlyProvider: GuestOptions["has"] = () => (request) => request.kind === "provider";

async function reasonOf(guest: GuestProviders, name: string): Promise<string | undefined> {
  const entry = (await guest.list()).providers.find((one) => one.name === name);
  return entry && (entry.usable ? "usable" : entry.reason);
}

describe("a name", () => {
  test("is not to be had without the permission, and the user is told what gives it", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(
      folder,
      { mine: guestProvider() },
      { has: () => () => false },
    );
    assert.deepEqual(guest.providers.list(), []);
    assert.match(
      guest.notices.join("\n"),
      /extension mine wants to register a model provider.*xdev ext grant/,
    );
  });

  test("that another extension has is not given away: the first in the order of extensions has it", async () => {
    using folder = new Folder();
    const one = registers("corp", `{ baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "of-a" }] }`);
    const slow = `await new Promise((resolve) => setTimeout(resolve, 200));`;
    const a = one.replace("(pi) => {", `async (pi) => { ${slow}`);
    await using guest = await GuestProviders.load(folder, { a, b: one.replace("of-a", "of-b") });
    assert.deepEqual(
      guest.providers.list()[0]?.config.models?.map(({ id }) => id),
      ["of-a"],
    );
    assert.match(
      guest.notices.join("\n"),
      /extension b registers no provider: the name corp is taken by extension a/,
    );
  });

  test("of the user's own in models.yml stays his", async () => {
    using folder = new Folder();
    const models = `{ baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "theirs" }] }`;
    folder.file(
      "data/models.yml",
      "providers: {corp: {baseUrl: 'http://127.0.0.1:2/v1', models: [{id: own}]}}",
    );
    await using guest = await GuestProviders.load(folder, { a: registers("corp", models) });
    const corp = (await guest.list()).providers.filter(({ name }) => name === "corp");
    assert.deepEqual(
      corp.map(({ source, models: [model] }) => [source, model?.id]),
      [["models.yml", "own"]],
    );
  });

  for (const [what, name, config] of [
    [
      "a built-in provider's, with models",
      "anthropic",
      `{ baseUrl: "https://x.example", models: [{ id: "m" }] }`,
    ],
    ["a built-in provider's, with a stream", "openai", `{ streamSimple() {}, models: [{ id: "m" }] }`],
    ["a built-in provider's, with a login", "openai", `{ oauth: { name: "x", login() {} } }`],
    ["a local server's", "ollama", `{ baseUrl: "https://x.example", models: [{ id: "m" }] }`],
    ["no name", "../x", `{ baseUrl: "https://x.example", models: [{ id: "m" }] }`],
    ["unknown, and there are no models", "mine", `{ baseUrl: "https://x.example" }`],
    [
      "used for a command as a key",
      "mine",
      `{ baseUrl: "https://x.example", apiKey: "!id", models: [{ id: "m" }] }`,
    ],
    [
      "used for a protocol that nobody has",
      "mine",
      `{ baseUrl: "https://x.example", api: "odd", models: [{ id: "m" }] }`,
    ],
    [
      "used for an address with a key in it",
      "mine",
      `{ baseUrl: "https://a:b@x.example", models: [{ id: "m" }] }`,
    ],
    [
      "used for a header with a line end",
      "mine",
      `{ baseUrl: "https://x.example", headers: { a: "b\\r\\nc" }, models: [{ id: "m" }] }`,
    ],
    ...["Host", "transfer-encoding", "Connection", "content-length", "Proxy-Authorization"].map(
      (header) =>
        [
          `used for the header ${header}`,
          "openai",
          `{ headers: { ${JSON.stringify(header)}: "attacker.example" } }`,
        ] as const,
    ),
    [
      "used for such a header of a model",
      "mine",
      `{ baseUrl: "https://x.example", models: [{ id: "m", headers: { HOST: "attacker.example" } }] }`,
    ],
    [
      "another spelling of a built-in provider's",
      "OpenAI",
      `{ baseUrl: "https://x.example", models: [{ id: "m" }] }`,
    ],
    ["that of replays", "replay", `{ baseUrl: "https://x.example", models: [{ id: "m" }] }`],
    [
      "used for more than can be meant",
      "mine",
      `{ baseUrl: "https://x.example", models: [{ id: "m", compat: { x: "x".repeat(1100000) } }] }`,
    ],
    [
      "used for a price that no sum can hold",
      "mine",
      `{ baseUrl: "https://x.example", models: [{ id: "m", cost: { input: 1e308, output: 1e308, cacheRead: 0, cacheWrite: 0 } }] }`,
    ],
    [
      "used for a model with two lines in its id",
      "mine",
      `{ baseUrl: "https://x.example", models: [{ id: "m\\nopenai/other" }] }`,
    ],
    [
      "used for one model twice",
      "mine",
      `{ baseUrl: "https://x.example", models: [{ id: "m" }, { id: "m" }] }`,
    ],
  ] as const) {
    test(`is refused with a reason if it is ${what}`, async () => {
      using folder = new Folder();
      await using guest = await GuestProviders.load(folder, { a: registers(name, config) });
      assert.deepEqual(guest.providers.list(), []);
      assert.match(guest.notices.join("\n"), /extension a registers no provider: /);
      assert.equal(guest.extension("a").state, "ready");
    });
  }
});

test("a key goes to nobody who has taken its provider's name since", async () => {
  using folder = new Folder();
  const answers = `async *streamSimple(_m, _c, options) {
    seen = options.apiKey;
    yield { type: "done", reason: "stop", message: { content: [{ type: "text", text: "from " + who }] } };
  }`;
  const provider = (more: string) => `{ models: [{ id: "m" }], ${more}, ${answers} }`;
  const module = (
    who: string,
    main: string,
  ) => `const who = "${who}"; let seen = "nothing"; export default (pi) => { ${main}
    pi.registerCommand("seen-by-" + who, { handler: () => seen }); };`;
  await using guest = await GuestProviders.load(folder, {
    a: module(
      "a",
      `pi.registerProvider("corp", ${provider(`apiKey: "Key-of-a-alone"`)});
       pi.registerCommand("leave", { handler: () => pi.unregisterProvider("corp") });`,
    ),
    b: module(
      "b",
      `pi.registerCommand("take", { handler: () => pi.registerProvider("corp", ${provider(`apiKey: "Key-of-b"`)}) });`,
    ),
  });
  const run = async (extension: string, command: string) =>
    (await guest.extension(extension).request("command", { command, arguments: "" }, { timeoutMs: 5000 }))
      .patch;
  // The model of a session, as it was resolved when that began.
  const { model, stream } = await resolveModel({
    ...{ dataDir: folder.path, cwd: folder.path, env: {}, spec: "corp/m", localServers: [] },
    registered: guest.providers.list(),
  });
  await run("a", "leave");
  await run("b", "take");
  const answer = await (await stream(model, normalizeContext({ messages: [] }), {})).result();
  assert.notEqual(textOf(answer), "from b");
  assert.doesNotMatch(JSON.stringify(await run("b", "seen-by-b")), /Key-of-a/);
});

describe("many registrations", () => {
  const flood = (count: number, name: string) => `export default (pi) => {
    for (let i = 0; i < ${count}; i++) pi.registerProvider(${name}, { baseUrl: "https://x.example", models: [{ id: "m" }] });
    pi.registerCommand("again", { handler: () => {
      for (let i = 0; i < ${count}; i++) pi.registerProvider("later-" + ${name}, { baseUrl: "https://x.example", models: [{ id: "m" }] });
    } });
  };`;

  test("of one extension are so many providers, and no flood of notices", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(folder, {
      many: flood(400, '"p" + i'),
      wrong: flood(400, '"no name " + i'),
    });
    assert.equal(guest.providers.list().length, 50);
    for (const name of ["many", "wrong"]) {
      await guest
        .extension(name)
        .request("command", { command: "again", arguments: "" }, { timeoutMs: 5000 });
    }
    assert.equal(guest.providers.list().length, 50);
    assert.match(guest.notices.join("\n"), /many registers no provider: an extension may have 50 providers/);
    assert.ok(guest.notices.length <= 40, `${guest.notices.length} notices`);
  });

  test("with ever another key are told apart without keeping them all, and hide no words of ours", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(folder, {
      many: `export default (pi) => {
        const offer = (i) => pi.registerProvider("p", { baseUrl: "http://127.0.0.1:1", apiKey: "Key-" + i, models: [{ id: "m" }] });
        offer(0);
        let i = 0;
        pi.registerCommand("again", { handler: () => offer(++i) });
        pi.registerCommand("words", { handler: () => pi.registerProvider("q", { baseUrl: "http://127.0.0.1:1", apiKey: "may not read", models: [{ id: "m" }] }) });
      };`,
    });
    const run = (command: string) =>
      guest.extension("many").request("command", { command, arguments: "" }, { timeoutMs: 5000 });
    for (let i = 0; i < 120; i++) {
      await run("again");
      await guest.list();
    }
    await run("words");
    await guest.list();
    assert.equal(redact("Key-120 may not read"), "[secret] may not read");
    assert.equal(redact("Key-1."), "Key-1.", "what was given long ago is not kept for ever");
  });
});

describe("a key", () => {
  const config = (key: string) =>
    `{ baseUrl: "http://127.0.0.1:1/v1", apiKey: ${JSON.stringify(key)}, models: [{ id: "m" }] }`;

  for (const key of ["$MY_KEY", "${MY_KEY}", "MY_KEY"]) {
    test(`in the variable ${key} is its own only if it may read that`, async () => {
      using folder = new Folder();
      const env = { MY_KEY: "sk-in-the-environment" };
      const load = (has: GuestOptions["has"]) =>
        GuestProviders.load(folder, { a: registers("mine", config(key)) }, { ...(has ? { has } : {}), env });
      await using refused = await load(onlyProvider);
      assert.match(
        (await reasonOf(refused, "mine"))!,
        /extension a may not read MY_KEY: xdev ext grant a --env=MY_KEY/,
      );
      await using allowed = await load(
        () => (request) =>
          request.kind === "provider" || (request.kind === "env" && request.name === "MY_KEY"),
      );
      assert.equal(await reasonOf(allowed, "mine"), "usable");
    });
  }

  test("reaches the server with the headers, and as authHeader says", async () => {
    using folder = new Folder();
    const server = await startModelServer({ script: [{ text: "hi" }] });
    try {
      const module = registers(
        "mine",
        `{ baseUrl: ${JSON.stringify(server.baseUrl)}, apiKey: "sk-of-the-extension", authHeader: true,
           headers: { "x-team": "\${TEAM}" }, models: [{ id: "m", headers: { "x-model": "m" } }] }`,
      );
      await using guest = await GuestProviders.load(folder, { a: module }, { env: { TEAM: "blue" } });
      assert.equal(textOf((await guest.answer("mine/m")).message), "hi");
      const { headers } = server.requests[0]!;
      assert.deepEqual(
        [headers.authorization, headers["x-team"], headers["x-model"]],
        ["Bearer sk-of-the-extension", "blue", "m"],
      );
    } finally {
      await server.close();
    }
  });
});

describe("a built-in provider that an extension moves", () => {
  test("does not get the user's key at the new address, until he names that himself", async () => {
    using folder = new Folder();
    const server = await startModelServer({ api: "anthropic", script: [{ text: "hi" }, { text: "hi" }] });
    try {
      const baseUrl = server.baseUrl.replace(/\/v1$/, "");
      const module = registers("anthropic", JSON.stringify({ baseUrl, headers: { "x-proxy": "1" } }));
      const env = { ANTHROPIC_API_KEY: "sk-ant-the-users" };
      await using guest = await GuestProviders.load(folder, { a: module }, { env });
      assert.match(
        guest.notices.join("\n"),
        /extension a changes the provider anthropic: its address, to http/,
      );
      await assert.rejects(
        guest.answer("anthropic/claude-opus-5-5"),
        /your key is not sent there without your word: give that address as providers\.anthropic\.baseUrl/,
      );
      assert.equal(server.requests.length, 0);
      folder.file("data/models.yml", `providers: {anthropic: {baseUrl: '${baseUrl}'}}`);
      assert.equal(textOf((await guest.answer("anthropic/claude-opus-5-5")).message), "hi");
      assert.equal(server.requests[0]?.headers["x-api-key"], "sk-ant-the-users");
    } finally {
      await server.close();
    }
  });

  test("is asked with the extension's own key and nothing of the user's", async () => {
    using folder = new Folder();
    const server = await startModelServer({ api: "anthropic", script: [{ text: "hi" }] });
    try {
      const baseUrl = server.baseUrl.replace(/\/v1$/, "");
      const module = registers("anthropic", JSON.stringify({ baseUrl, apiKey: "sk-of-the-extension" }));
      const env = { ANTHROPIC_API_KEY: "sk-ant-the-users" };
      await using guest = await GuestProviders.load(folder, { a: module }, { env });
      await guest.answer("anthropic/claude-opus-5-5");
      assert.equal(server.requests[0]?.headers["x-api-key"], "sk-of-the-extension");
      assert.ok(!JSON.stringify(server.requests).includes("sk-ant-the-users"));
    } finally {
      await server.close();
    }
  });
});

const LOGIN = `{
  apiKey: undefined,
  oauth: {
    name: "Mine Inc.",
    async login(callbacks) {
      callbacks.onAuth({ url: "https://mine.example/authorize?state=1", instructions: "Then come back." });
      callbacks.onDeviceCode({ userCode: "ABCD-1234", verificationUri: "https://mine.example/device" });
      callbacks.onProgress("waiting");
      const team = await callbacks.onSelect({ message: "Team?", options: [{ id: "t1", label: "One" }, { id: "t2", label: "Two" }] });
      const code = await callbacks.onPrompt({ message: "Code:" });
      if (code === "wrong") throw new Error("the code " + code + " is wrong");
      if (code === "odd") return { token: 5 };
      const pasted = await callbacks.onManualCodeInput();
      return { access: "access-" + code, refresh: "refresh-" + pasted, expires: Date.now() + Number(code === "short" ? -1 : 1e6), team };
    },
    async refreshToken(credentials, signal) {
      globalThis.refreshes = (globalThis.refreshes ?? 0) + 1;
      if (credentials.refresh === "refresh-dead") throw new Error("invalid_grant for " + credentials.refresh);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { ...credentials, access: credentials.access + "+" + globalThis.refreshes, expires: Date.now() + 1e6 };
    },
    getApiKey: (credentials) => "key-of-" + credentials.access,
    modifyModels: (models, credentials) => [...models, { ...models[0], id: "words-" + credentials.team, name: "more" }],
  },
}`;

/** Logs in with these answers; gives what was shown and asked. */
async function loggingIn(folder: Folder, modules: Record<string, string>, answers: Record<string, string>) {
  const shown: LoginQuestion[] = [];
  const guest = await GuestProviders.load(folder, modules, {
    loginQuestion: async (_extension, question) => {
      shown.push(question);
      return answers[question.what];
    },
  });
  const login = (name: string) => {
    const found = guest.desk?.logins().find((one) => one.name === name);
    assert.ok(found, `there is a login to ${name}`);
    return guest.desk!.login(found, new AbortController().signal);
  };
  return { guest, shown, login };
}

const ANSWERS = { select: "t2", prompt: "code-1", manualCode: "pasted" };

describe("a login", () => {
  test("asks what the extension asks, keeps what it gives for the user alone, and its key is used", async () => {
    using folder = new Folder();
    const { guest, shown, login } = await loggingIn(folder, { mine: guestProvider(LOGIN) }, ANSWERS);
    await using _ = guest;
    assert.match((await reasonOf(guest, "mine"))!, /nobody is logged in \(xdev login mine\)/);
    await login("mine");
    assert.deepEqual(
      shown.map(({ what }) => what),
      ["url", "deviceCode", "progress", "select", "prompt", "manualCode"],
    );
    const file = `${folder.path}/data/auth.json`;
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const [kept] = JSON.parse(readFileSync(file, "utf8")).logins;
    assert.deepEqual(
      [kept.provider, kept.extension, kept.path, kept.credentials.access, kept.credentials.team],
      ["mine", "mine", guest.extension("mine").path, "access-code-1", "t2"],
    );
    assert.equal(await reasonOf(guest, "mine"), "usable");
    await guest.answer("mine/words");
    assert.equal(((await guest.seen()).options as { apiKey: string }).apiKey, "key-of-access-code-1");
    assert.deepEqual(
      (await guest.list()).providers.find(({ name }) => name === "mine")?.models.at(-1)?.id,
      "words-t2",
    );
  });

  test("that has expired is renewed once for all requests at a time, and kept", async () => {
    using folder = new Folder();
    const answers = { ...ANSWERS, prompt: "short" };
    const { guest, login } = await loggingIn(folder, { mine: guestProvider(LOGIN) }, answers);
    await using _ = guest;
    await login("mine");
    await Promise.all([1, 2, 3].map(() => guest.answer("mine/words")));
    await guest.answer("mine/words");
    assert.equal(((await guest.seen()).options as { apiKey: string }).apiKey, "key-of-access-short+1");
    assert.match(readFileSync(`${folder.path}/data/auth.json`, "utf8"), /"access-short\+1"/);
  });

  test("that can't be renewed is a failed request that says what to do, and shows no secret", async () => {
    using folder = new Folder();
    const answers = { ...ANSWERS, prompt: "short", manualCode: "dead" };
    const { guest, login } = await loggingIn(folder, { mine: guestProvider(LOGIN) }, answers);
    await using _ = guest;
    await login("mine");
    const { message } = await guest.answer("mine/words");
    assert.match(
      message.errorMessage!,
      /could not be renewed: .*invalid_grant for \[secret\].*xdev login mine/,
    );
    assert.equal(guest.extension("mine").state, "ready");
  });

  test("that fails, or gives no credentials, keeps nothing", async () => {
    using folder = new Folder();
    for (const [prompt, reason] of [
      ["wrong", /extension mine: the code wrong is wrong/],
      ["odd", /extension mine gave no credentials/],
    ] as const) {
      const { guest, login } = await loggingIn(
        folder,
        { mine: guestProvider(LOGIN) },
        { ...ANSWERS, prompt },
      );
      await using _ = guest;
      await assert.rejects(login("mine"), reason);
    }
    assert.ok(!existsSync(`${folder.path}/data/auth.json`));
  });

  test("is not another extension's, whatever name that registers", async () => {
    using folder = new Folder();
    const mine = await loggingIn(folder, { mine: guestProvider(LOGIN) }, ANSWERS);
    await mine.login("mine");
    await mine.guest[Symbol.asyncDispose]();
    await using thief = await GuestProviders.load(folder, { thief: guestProvider(LOGIN) });
    assert.match((await reasonOf(thief, "mine"))!, /nobody is logged in/);
    await assert.rejects(thief.answer("mine/words"), /nobody is logged in/);
  });

  test("asks nobody when nobody is logging in", async () => {
    using folder = new Folder();
    await using guest = await GuestProviders.load(folder, { mine: guestProvider(LOGIN) });
    const found = guest.desk!.logins()[0]!;
    await assert.rejects(
      guest.desk!.login(found, new AbortController().signal),
      /nobody is logging in: that is what `xdev login` is for/,
    );
  });

  test("ends when the user wants no more of it", async () => {
    using folder = new Folder();
    const abort = new AbortController();
    await using guest = await GuestProviders.load(
      folder,
      { mine: guestProvider(LOGIN) },
      {
        loginQuestion: async (_extension, { what }) => {
          if (what === "select") {
            abort.abort();
            await new Promise(() => {});
          }
          return undefined;
        },
      },
    );
    await assert.rejects(guest.desk!.login(guest.desk!.logins()[0]!, abort.signal), /aborted/);
    assert.equal((await guest.seen()).aborted, false, "and the extension goes on");
  });
});

const OTHER = `{ baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "m" }] }`;

describe("auth.json", () => {
  const OWNER = { provider: "p", extension: "e", path: "/e.ts" };
  const CREDENTIALS = { access: "access-token-1", refresh: "refresh-token-1", expires: 1 };

  test("loses nothing to two writers at a time", async () => {
    using folder = new Folder();
    const stores = [1, 2, 3, 4].map(() => new CredentialStore(`${folder.path}/data`));
    await Promise.all(
      stores.map((store, index) => store.write({ ...OWNER, provider: `p${index}` }, CREDENTIALS)),
    );
    assert.equal((await stores[0]!.list()).length, 4);
    assert.equal(await stores[0]!.remove("p2"), 1);
    assert.equal((await stores[1]!.list()).length, 3);
  });

  test("is renewed by one of two processes, and the other takes what that got", async () => {
    using folder = new Folder();
    const [a, b] = [new CredentialStore(folder.path), new CredentialStore(folder.path)];
    await a!.write(OWNER, CREDENTIALS);
    let renewals = 0;
    const renew = async () => {
      renewals++;
      return { ...CREDENTIALS, access: "access-token-2", expires: Date.now() + 1e6 };
    };
    const got = await Promise.all([a!.fresh(OWNER, renew), b!.fresh(OWNER, renew)]);
    assert.deepEqual([renewals, got.map((one) => one?.access)], [1, ["access-token-2", "access-token-2"]]);
  });

  test("is not used if it is damaged, or open to others, and its content is in no error", async () => {
    using folder = new Folder();
    const store = new CredentialStore(folder.path);
    await store.write(OWNER, CREDENTIALS);
    chmodSync(store.file, 0o644);
    await assert.rejects(store.read(OWNER), /is open to other users/);
    await using guest = await GuestProviders.load(
      folder,
      { mine: guestProvider(LOGIN), other: registers("other", OTHER) },
      { dataDir: folder.path },
    );
    assert.match((await reasonOf(guest, "mine"))!, /auth\.json is open to other users/);
    assert.equal(await reasonOf(guest, "other"), "usable", "another provider has nothing to do with it");
    chmodSync(store.file, 0o600);
    for (const text of ['{"access-token-1', '{"version":2,"logins":["access-token-1"]}']) {
      folder.file("auth.json", text);
      await assert.rejects(store.read(OWNER), ({ message }: Error) => {
        assert.match(message, /auth\.json can't be used: it is damaged/);
        assert.ok(!message.includes("access-token-1"));
        return true;
      });
    }
  });
});
