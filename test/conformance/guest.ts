/**
 * The worker transport with a scripted peer in the place of the guest: everything from the worker's messages upwards is
 * the product's. What a real guest can do through its API is tested with real guests.
 */
import { readFileSync } from "node:fs";
import { type Cache, sha256 } from "../../src/base/cache.ts";
import type { Channel, ChannelHandlers } from "../../src/extensions/channel.ts";
import { workerChannel } from "../../src/extensions/worker.ts";
import type { GuestWorker, Platform } from "../../src/platform/index.ts";
import { ALLOW, type Script, type Step } from "./script.ts";

/** A channel to a scripted guest. `path` stands for the module; the script is the .json file beside it. */
export function scriptedWorker(path: string, maxFrameBytes: number): Channel {
  const script = (): Script => JSON.parse(readFileSync(path.replace(/\.\w+$/, ".json"), "utf8"));
  return workerOf(path, maxFrameBytes, () => new ScriptedGuest(script()));
}

/** The worker transport with another guest than the real one. `path` is any file. */
export function workerOf(path: string, maxFrameBytes: number, start: () => GuestWorker): Channel {
  const refuse = (): never => {
    throw new Error("not in this test");
  };
  const platform: Platform = {
    runtime: "bun",
    compiled: false,
    bundle: refuse,
    startGuest: async () => start(),
    hostProgram: refuse,
    endsLoops: true,
    startBundler: refuse,
    startProgram: refuse,
    guestSource: async () => ({ text: "", requires: [] }),
  };
  return later(
    workerChannel({ name: "guest", path, maxFrameBytes, maxTimers: 100, cache: bundleOf(path), platform }),
  );
}

/** A cache that has a bundle of the module. */
function bundleOf(path: string): Cache {
  const files = [[path, sha256(readFileSync(path))]];
  const value = { digest: "", imports: [], declares: false, inputs: { files, probes: [], folders: [] } };
  return {
    read: async () => value,
    readWithBytes: async () => ({ value, bytes: new Uint8Array() }),
    write: async () => {},
  };
}

function later(made: Promise<Channel>): Channel {
  return {
    open: (handlers: ChannelHandlers) => void made.then((channel) => channel.open(handlers)),
    send: (frame) => void made.then((channel) => channel.send(frame)),
    close: (graceMs) => made.then((channel) => channel.close(graceMs)),
    kill: () => made.then((channel) => channel.kill()),
  };
}

interface HostFrame {
  type: string;
  id: string;
  event: string;
  payload?: { callId?: unknown; arguments?: unknown };
}

/** Runs a script like peer.py does. */
class ScriptedGuest implements GuestWorker {
  readonly #script: Script;
  readonly #inbox: HostFrame[] = [];
  readonly #counts = new Map<string, number>();
  readonly #held: HostFrame[] = [];
  #wake = Promise.withResolvers<void>();
  #listener: (data: unknown) => void = () => {};
  #exit: (reason: string) => void = () => {};
  #ended = false;

  constructor(script: Script) {
    this.#script = script;
  }

  post(message: unknown): void {
    if (typeof message === "object" && message !== null && "sources" in message) return void this.#live();
    this.#inbox.push(JSON.parse(message as string) as HostFrame);
    this.#wake.resolve();
  }

  onMessage(listener: (data: unknown) => void): void {
    this.#listener = listener;
  }

  onExit(listener: (reason: string) => void): void {
    this.#exit = listener;
  }

  async terminate(): Promise<void> {
    this.#ended = true;
  }

  async #live(): Promise<void> {
    const { capabilities = {}, start = [], on = {} } = this.#script;
    await this.#run(start);
    for (;;) {
      const frame = await this.#next(() => true);
      if (frame.type === "hello" && capabilities !== null) {
        await this.#run([{ send: { type: "capabilities", payload: capabilities } }]);
      } else if (frame.type === "event") {
        const plans = on[frame.event] ?? [[{ send: ALLOW }]];
        const count = this.#counts.get(frame.event) ?? 0;
        this.#counts.set(frame.event, count + 1);
        await this.#run(plans[Math.min(count, plans.length - 1)] ?? [], frame);
      }
    }
  }

  async #next(wanted: (frame: HostFrame) => boolean): Promise<HostFrame> {
    for (;;) {
      const index = this.#inbox.findIndex(wanted);
      if (index !== -1) return this.#inbox.splice(index, 1)[0]!;
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }

  async #run(steps: readonly Step[], event?: HostFrame): Promise<void> {
    for (const [index, step] of steps.entries()) {
      if (this.#ended) await new Promise(() => {});
      if ("send" in step) this.#tell(padded(fill(JSON.stringify(step.send), event), step.size));
      else if ("text" in step) this.#tell(fill(step.text, event));
      else if ("sleepMs" in step) await new Promise((resolve) => setTimeout(resolve, step.sleepMs));
      else if ("exit" in step) {
        this.#ended = true;
        this.#exit(`exited with status ${step.exit}`);
      } else if ("hang" in step) await new Promise(() => {});
      else if ("log" in step) this.#listener(["log", step.log]);
      else if ("await" in step) await this.#next(({ type }) => type === step.await);
      else if ("hold" in step) {
        if (event) await this.#hold(event, step.hold, steps.slice(index + 1));
        return;
      } else throw new Error(`no step of a guest: ${JSON.stringify(step)}`);
    }
  }

  async #hold(event: HostFrame, count: number, rest: readonly Step[]): Promise<void> {
    this.#held.push(event);
    if (this.#held.length < count) return;
    const events = this.#held.splice(0);
    for (const index of events.keys()) await this.#run(rest, events[(index * 7919) % count]);
  }

  #tell(text: string): void {
    if (!this.#ended) this.#listener(["frame", text]);
  }
}

function padded(text: string, size: number | undefined): string {
  if (size === undefined) return text;
  const start = `${text.slice(0, -1)},"pad":"`;
  return `${start}${"x".repeat(size - start.length - 2)}"}`;
}

function fill(text: string, event: HostFrame | undefined): string {
  if (!event) return text;
  const values = {
    $id: event.id,
    $number: Number(event.id),
    $callId: event.payload?.callId ?? null,
    $arguments: event.payload?.arguments ?? null,
  };
  let filled = text;
  for (const [name, value] of Object.entries(values)) {
    filled = filled.replaceAll(`"${name}"`, () => JSON.stringify(value));
  }
  return filled;
}
