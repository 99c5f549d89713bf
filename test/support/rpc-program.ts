/** The compiled program in rpc mode, with a data dir in the folder of the test: `await using` ends it as a client does that goes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Folder } from "./folder.ts";
import type { Rec } from "./rpc.ts";
import { XDEV } from "./xdev.ts";

export class Client implements AsyncDisposable {
  readonly records: Rec[] = [];
  readonly child: ChildProcess;
  #wake: () => void = () => {};
  #id = 0;

  constructor(folder: Folder, replay: string, ...args: string[]) {
    const options = ["--mode", "rpc", "--model", `replay:${folder.file("replay.yml", replay)}`];
    this.child = spawn(XDEV, [...options, "--cwd", join(folder.path, "work"), ...args], {
      env: { PATH: process.env.PATH ?? "", HOME: folder.path, XDEV_DATA_DIR: join(folder.path, "data") },
      stdio: ["pipe", "pipe", "inherit"],
    });
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      const record = JSON.parse(line) as Rec;
      this.records.push(record);
      // Nobody is there to be asked for permissions.
      if (record.type === "extension_ui_request" && record.method === "input") {
        const answer = { type: "extension_ui_response", id: record.id, cancelled: true };
        this.child.stdin!.write(`${JSON.stringify(answer)}\n`);
      }
      this.#wake();
    });
  }

  async until(found: (record: Rec) => boolean, from = 0): Promise<Rec> {
    for (;;) {
      const record = this.records.slice(from).find(found);
      if (record) return record;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async send(command: Record<string, unknown>): Promise<Rec> {
    const id = `c${++this.#id}`;
    this.child.stdin!.write(`${JSON.stringify({ ...command, id })}\n`);
    return this.until((record) => record.type === "response" && record.id === id);
  }

  /** What a command of an extension printed. */
  async say(message: string): Promise<string | undefined> {
    const from = this.records.length;
    const reply = await this.send({ type: "prompt", message });
    if (reply.success !== true) throw new Error(String(reply.error));
    const output = this.records.slice(from).find(({ type }) => type === "command_output");
    return output?.text as string | undefined;
  }

  /** Resolves with what is told of the reload. */
  async reloaded(from: number): Promise<string> {
    const isReload = (record: Rec) =>
      record.type === "notice" && /extensions reloaded|not reloaded/.test(String(record.text));
    return String((await this.until(isReload, from)).text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.child, "close");
    this.child.stdin!.end();
    const [status] = await closed;
    assert.equal(status, 0);
  }
}
