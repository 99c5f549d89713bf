/** A client of rpc mode in the test's own process: real streams, a real session, a model that says what it is told to. */
import { PassThrough } from "node:stream";
import type { RecordOutput } from "../../src/modes/records.ts";
import { openRpc, type Rpc } from "../../src/modes/rpc/rpc.ts";
import { type Harness, type HarnessOptions, type ScriptStep, startSession } from "./agent-session.ts";
import type { Folder } from "./folder.ts";

export type Rec = Record<string, unknown> & { type: string };

/** Takes lines and lets a test wait for one. */
export class Records implements RecordOutput {
  readonly all: Rec[] = [];
  #wanted: { matches: (record: Rec) => boolean; resolve: (record: Rec) => void }[] = [];
  /** While set, what is written stays unread. */
  #unread: (() => void)[] | undefined;

  write(text: string, written: () => void): void {
    if (!text.endsWith("\n") || text.slice(0, -1).includes("\n")) throw new Error(`no line: ${text}`);
    const record = JSON.parse(text) as Rec;
    this.all.push(record);
    for (const one of this.#wanted.filter(({ matches }) => matches(record))) {
      this.#wanted.splice(this.#wanted.indexOf(one), 1);
      one.resolve(record);
    }
    if (this.#unread) this.#unread.push(written);
    else written();
  }

  stopReading(): void {
    this.#unread ??= [];
  }

  readOn(): void {
    const unread = this.#unread ?? [];
    this.#unread = undefined;
    for (const written of unread) written();
  }

  /** The first that matches, of those that are there and those that come. */
  find(matches: (record: Rec) => boolean): Promise<Rec> {
    const known = this.all.find(matches);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => this.#wanted.push({ matches, resolve }));
  }
}

export interface RpcHarness extends AsyncDisposable {
  rpc: Rpc;
  records: Records;
  input: PassThrough;
  harness: Harness;
  served: Promise<number>;
  interrupt: AbortController;
  /** Writes a command under a fresh id and gives its response. */
  send(command: Record<string, unknown>): Promise<Rec>;
  write(line: string): void;
  types(): string[];
}

export async function startRpc(
  folder: Folder,
  steps: readonly ScriptStep[],
  {
    lineLimit,
    start,
    ...options
  }: HarnessOptions & { lineLimit?: number; start?: (rpc: Rpc) => Promise<void> } = {},
): Promise<RpcHarness> {
  const input = new PassThrough();
  const records = new Records();
  const interrupt = new AbortController();
  const rpc = openRpc({
    input,
    output: records,
    interrupt: interrupt.signal,
    ...(lineLimit === undefined ? {} : { lineLimit }),
  });
  const harness = await startSession(folder, steps, options);
  const { session } = harness;
  const served = rpc.serve({
    session,
    dataDir: folder.path,
    cwd: folder.path,
    start: () => start?.(rpc) ?? session.start("startup"),
  });
  let count = 0;
  return {
    ...{ rpc, records, input, harness, served, interrupt },
    send(command) {
      const id = `c${++count}`;
      input.write(`${JSON.stringify({ id, ...command })}\n`);
      return records.find((record) => record.type === "response" && record.id === id);
    },
    write: (line) => void input.write(`${line}\n`),
    types: () => records.all.map(({ type }) => type).filter((type) => type !== "message_update"),
    async [Symbol.asyncDispose]() {
      input.end();
      await served.catch(() => {});
      await harness.session.dispose();
    },
  };
}

/** A text that is not spoken before `open` is called. */
export function gate(): { open: () => void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
}
