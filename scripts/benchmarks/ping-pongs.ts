/**
 * The round trips that `scripts/bench protocol` compares: a call of a tool put to an extension by the manager, and the same
 * frames exchanged with as little around them as this runtime allows. Both sides of a pair have the same peer.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DEFAULT_SETTINGS } from "../../src/config/settings.ts";
import { decideToolCall, type ToolCall } from "../../src/extensions/chain.ts";
import { identifyExtensions } from "../../src/extensions/discovery.ts";
import type { HostFrame } from "../../src/extensions/frame.ts";
import { ExtensionManager } from "../../src/extensions/manager.ts";
import { root } from "./programs.ts";

export interface PingPong {
  /** One round trip; rejects unless the call was allowed. */
  ask(): Promise<void>;
  stop(): Promise<void>;
}

const CALL: ToolCall = {
  tool: "bash",
  arguments: { command: "ls -la src", timeout: 30 },
  callId: "call_1",
};
/** A module for the worker transport that allows everything. */
export const WORKER_EXTENSION = join(root, "test", "fixtures", "allow-all.ts");
const RESPONDER = join(root, "test", "fixtures", "responder.ts");

/** Writes the process extension, an executable file, into `folder` and gives its path. */
export async function processExtension(folder: string): Promise<string> {
  const path = join(folder, "responder");
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  await writeFile(path, `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(RESPONDER)}\n`, { mode: 0o755 });
  return path;
}

/** As the agent asks: with a signal that lives longer than the call. */
export async function managed(path: string): Promise<PingPong> {
  const refuse = (text: string): never => {
    throw new Error(text);
  };
  const manager = await ExtensionManager.load({
    sources: await identifyExtensions(path),
    settings: DEFAULT_SETTINGS.extensionHost,
    env: process.env,
    host: { notice: refuse, notify: (_extension, text) => refuse(text), action: () => refuse("an action") },
  });
  const { signal } = new AbortController();
  return {
    async ask() {
      const verdict = await decideToolCall(manager.interceptors(), { ...CALL }, (args) => args, signal);
      if (!verdict.allow) refuse(verdict.reason);
    },
    stop: () => manager.stop(),
  };
}

/** The lines that the process transport writes and reads, over the pipes of the same program. */
export async function rawPipe(path: string): Promise<PingPong> {
  const child = Bun.spawn({ cmd: [path], stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  const readLine = async (): Promise<string> => {
    let line = "";
    do {
      const { done, value } = await reader.read();
      if (done) throw new Error("the responder is gone");
      line += decoder.decode(value, { stream: true });
    } while (!line.endsWith("\n"));
    return line;
  };
  await readLine(); // its capabilities
  const frames = eventFrames();
  return {
    async ask() {
      const frame = frames();
      child.stdin.write(`${JSON.stringify(frame)}\n`);
      child.stdin.flush();
      expectAllowed(JSON.parse(await readLine()), frame.id);
    },
    async stop() {
      child.stdin.end();
      await child.exited;
    },
  };
}

/**
 * @param encode what a frame is posted as. The frame itself is what `postMessage` is made for; text is what the transport
 * posts, since it is cheaper.
 */
export function rawWorker(encode: (frame: HostFrame) => unknown): PingPong {
  const worker = new Worker(new URL("./echo-worker.ts", import.meta.url));
  let arrived: (text: string) => void = () => {};
  worker.onmessage = ({ data }: MessageEvent<[string, string]>) => arrived(data[1]);
  const frames = eventFrames();
  return {
    async ask() {
      const frame = frames();
      const text = await new Promise<string>((resolve) => {
        arrived = resolve;
        worker.postMessage(encode(frame));
      });
      expectAllowed(JSON.parse(text), frame.id);
    },
    async stop() {
      worker.terminate();
    },
  };
}

/** The frames that the manager makes of the call. */
function eventFrames(): () => Extract<HostFrame, { type: "event" }> {
  let id = 0;
  return () => ({ type: "event", id: String(++id), event: "tool_call", payload: { ...CALL } });
}

function expectAllowed(answer: { id?: unknown; allow?: unknown }, id: string): void {
  if (answer.id !== id || answer.allow !== true) throw new Error("another answer than the frame's");
}
