/** Whatever bytes or messages an extension sends: never a crash, never an allowed call without an `allow: true`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { decideToolCall } from "../../src/extensions/chain.ts";
import type { Channel } from "../../src/extensions/channel.ts";
import { Extension } from "../../src/extensions/extension.ts";
import { extensionInterceptor } from "../../src/extensions/interceptor.ts";
import { processChannel } from "../../src/extensions/process.ts";
import type { GuestWorker } from "../../src/platform/index.ts";
import type { OutputListener, ProgramEnd, StartProgram } from "../../src/platform/program.ts";
import { workerOf } from "./guest.ts";
import { guarded } from "./harness.ts";

const HERE = fileURLToPath(import.meta.url);
const CAPABILITIES = JSON.stringify({
  type: "capabilities",
  payload: { events: ["tool_call"], features: ["call", "update", "result"] },
});
const limits = {
  handshakeTimeoutMs: 20_000,
  eventTimeoutMs: 20_000,
  toolTimeoutMs: 20_000,
  maxFrameBytes: 2000,
  maxFramesPerSecond: 1_000_000,
  maxLogBytesPerSecond: 1_000_000_000,
  maxPendingCalls: 256,
  onDeath: "prune" as const,
  required: false,
};

/** A program that is not there: what it writes and when it ends is the test's to say. */
function fakeProgram() {
  const exited = Promise.withResolvers<ProgramEnd>();
  let listener: OutputListener = () => undefined;
  const start: StartProgram = () => ({
    pid: undefined,
    write: async () => true,
    endInput() {},
    read: (given) => {
      listener = given;
    },
    release() {},
    exited: exited.promise,
    drained: Promise.resolve(),
  });
  return {
    channel: processChannel({ path: HERE, env: {}, maxFrameBytes: limits.maxFrameBytes, start }),
    say: (bytes: Uint8Array) => void listener(Buffer.from(bytes), "stdout"),
    end: () => exited.resolve({ code: 0, signal: null }),
  };
}

/** Such a guest. */
function fakeGuest() {
  const started = Promise.withResolvers<void>();
  let say: (data: unknown) => void = () => {};
  let end: (reason: string) => void = () => {};
  const guest: GuestWorker = {
    post: () => started.resolve(),
    onMessage: (listener) => {
      say = listener;
    },
    onExit: (listener) => {
      end = listener;
    },
    terminate: async () => {},
  };
  return {
    channel: workerOf(HERE, limits.maxFrameBytes, () => guest),
    started: started.promise,
    say: (data: unknown) => say(data),
    end: () => end("ended by itself"),
  };
}

async function start(channel: Channel): Promise<{ extension: Extension; ready: Promise<void> }> {
  const extension = new Extension(
    { name: "x", path: HERE, kind: "process" },
    async () => channel,
    limits,
    { onAction() {}, onCall: async () => null, onLog() {}, onDeath() {}, onChange() {} },
    "0",
  );
  const { opened, ready } = extension.start();
  await opened;
  return { extension, ready };
}

const decide = (extension: Extension) =>
  guarded(
    decideToolCall(
      [
        extensionInterceptor(
          extension,
          async () => {},
          () => false,
        ),
      ],
      { tool: "bash", arguments: { command: "ls" }, callId: "c" },
      (args) => args,
    ),
  );

/** Whether a text is a frame that allows the first call. */
function allows(text: string): boolean {
  try {
    const frame: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (typeof frame !== "object" || frame === null || Array.isArray(frame)) return false;
    const { type, id, allow, error, failOpen } = Object.fromEntries(Object.entries(frame));
    if (type !== "response" || String(id) !== "1") return false;
    return error == null ? allow === true : failOpen === true;
  } catch {
    return false;
  }
}

/** Values that are nearly right, and others. */
const flag = fc.oneof(fc.boolean(), fc.constantFrom("true", 1, null, {}, [], "allow"));
const frame = fc.record(
  {
    type: fc.oneof(
      { weight: 6, arbitrary: fc.constant("response") },
      fc.constantFrom("capabilities", "action", "log", "update", "call", "hello", "event", "", 5, null),
    ),
    id: fc.oneof({ weight: 4, arbitrary: fc.constantFrom("1", 1) }, fc.constantFrom("2", 0, "", null, {})),
    allow: flag,
    failOpen: flag,
    reason: fc.oneof(fc.string(), fc.constantFrom(null, 5)),
    error: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.string(), fc.constant(5)),
    revise: fc.jsonValue(),
    patch: fc.jsonValue(),
    result: fc.jsonValue(),
    payload: fc.jsonValue(),
    method: fc.string(),
    action: fc.string(),
    text: fc.string(),
    __proto__x: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const frameText = fc.oneof(
  frame.map((value) => JSON.stringify(value)),
  frame.map((value) => JSON.stringify(value).replace("__proto__x", "__proto__")),
  fc.json(),
  fc.string({ unit: "binary" }),
  fc.constant(JSON.stringify({ type: "response", id: "1", allow: true })),
  // A frame with one character changed or lost.
  fc.tuple(frame, fc.nat(), fc.string({ maxLength: 1 })).map(([value, at, other]) => {
    const text = JSON.stringify(value);
    return text.slice(0, at % text.length) + other + text.slice((at % text.length) + 1);
  }),
);
const lineBytes = fc.oneof(
  fc
    .tuple(frameText, fc.constantFrom("\n", "\r\n", "\n\n", "", "\r"))
    .map(([text, end]) => Buffer.from(text + end)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.nat({ max: 4000 }).map((length) => Buffer.alloc(length, 0x20)),
);
const stream = fc.array(lineBytes, { maxLength: 6 }).map((parts) => Buffer.concat(parts));

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let start = 0;
  for (let index = 0; start < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? bytes.length;
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return chunks;
}
const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 });

describe("property", () => {
  test("arbitrary bytes as answers: no crash, and no allowed call without allow: true", async () => {
    let allowed = 0;
    await fc.assert(
      fc.asyncProperty(stream, sizes, async (bytes, chunkSizes) => {
        const program = fakeProgram();
        const { extension, ready } = await start(program.channel);
        program.say(Buffer.from(`${CAPABILITIES}\n`));
        await ready;
        const verdict = decide(extension);
        for (const chunk of cut(bytes, chunkSizes)) program.say(chunk);
        program.end();
        const { allow } = await verdict;
        // Latin-1 would hide nothing: a line of other bytes than UTF-8 is no frame.
        const lines = bytes.toString("utf8").split("\n");
        if (allow)
          assert.ok(
            lines.some((line) => allows(line.replace(/\r$/, ""))),
            JSON.stringify(lines),
          );
        allowed += allow ? 1 : 0;
        await guarded(extension.stop(0));
        assert.ok(["dead", "stopped"].includes(extension.state));
      }),
      { numRuns: 400 },
    );
    assert.ok(allowed > 0, "the bytes are not all nonsense");
  });

  test("arbitrary messages of a guest as answers: the same", async () => {
    let allowed = 0;
    const message = fc.oneof(
      { weight: 4, arbitrary: frameText.map((text): unknown => ["frame", text]) },
      fc.tuple(fc.constantFrom("log", "fatal", "frames", "", 5), fc.string()),
      fc.tuple(fc.constant("frame"), fc.anything()),
      fc.array(fc.anything(), { maxLength: 3 }),
      fc.anything(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 4 }), async (messages) => {
        const guest = fakeGuest();
        const { extension, ready } = await start(guest.channel);
        await guest.started;
        guest.say(["frame", CAPABILITIES]);
        await ready;
        const verdict = decide(extension);
        for (const each of messages) guest.say(each);
        guest.end();
        const { allow } = await verdict;
        const texts = messages.flatMap((each) =>
          Array.isArray(each) && each[0] === "frame" && typeof each[1] === "string" ? [each[1]] : [],
        );
        if (allow) assert.ok(texts.some(allows), JSON.stringify(texts));
        allowed += allow ? 1 : 0;
        await guarded(extension.stop(0));
      }),
      { numRuns: 300 },
    );
    assert.ok(allowed > 10);
  });

  test("arbitrary bytes as a handshake: it is ready only after capabilities, and never crashes", async () => {
    await fc.assert(
      fc.asyncProperty(stream, fc.boolean(), stream, sizes, async (before, capable, after, chunkSizes) => {
        const program = fakeProgram();
        const { extension, ready } = await start(program.channel);
        const bytes = Buffer.concat([before, Buffer.from(capable ? `\n${CAPABILITIES}\n` : ""), after]);
        for (const chunk of cut(bytes, chunkSizes)) program.say(chunk);
        program.end();
        await guarded(ready);
        assert.ok(["failed", "ready", "dead"].includes(extension.state), extension.state);
        if (extension.state !== "failed") assert.ok(bytes.includes('"capabilities"'));
        if (before.length === 0 && capable) assert.notEqual(extension.state, "failed");
        await guarded(extension.stop(0));
      }),
      { numRuns: 300 },
    );
  });
});
