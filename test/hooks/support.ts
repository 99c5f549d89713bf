import { mkdirSync } from "node:fs";
import { decideToolCall, patchToolResult, type ToolResult } from "../../src/extensions/chain.ts";
import { type HooksBus, type HooksContext, hooksBus } from "../../src/hooks/bus.ts";
import type { HookEntry } from "../../src/hooks/hook.ts";
import { type HookSources, loadHooks } from "../../src/hooks/sources.ts";
import { Folder } from "../support/folder.ts";

/** A session's hooks in a scratch folder; the data dir is `data` in it. `await using` ends and removes them. */
export class Session implements AsyncDisposable {
  readonly folder = new Folder();
  readonly notices: string[] = [];
  entries: HookEntry[] = [];
  bus!: HooksBus;

  get dataDir(): string {
    return `${this.folder.path}/data`;
  }

  async load(sources: Partial<HookSources> = {}, context: Partial<HooksContext> = {}): Promise<this> {
    const notice = (text: string) => void this.notices.push(text);
    mkdirSync(this.dataDir, { recursive: true });
    this.entries = await loadHooks({
      dataDir: this.dataDir,
      setting: {},
      options: [],
      startFolder: this.folder.path,
      notice,
      ...sources,
    });
    this.bus = hooksBus(this.entries, {
      cwd: this.folder.path,
      sessionId: "s1",
      env: process.env,
      notice,
      ...context,
    });
    return this;
  }

  /** What the chain decides about a call: the arguments that would run, or why none. */
  async decide(
    args: Record<string, unknown>,
    tool = "bash",
    signal?: AbortSignal,
  ): Promise<Record<string, unknown> | string> {
    const validate = (revised: Record<string, unknown>) => {
      if (typeof revised.command !== "string") throw new Error("command: must be a string");
      return revised;
    };
    const call = { tool, arguments: args, callId: "c1" };
    const verdict = await decideToolCall(this.bus.interceptors, call, validate, signal);
    return verdict.allow ? verdict.arguments : verdict.reason;
  }

  /** The text of a result after the hooks have seen it. */
  async patch(text: string, tool = "bash"): Promise<ToolResult> {
    const result: ToolResult = { content: [{ type: "text", text }], details: 1, isError: false };
    return patchToolResult(this.bus.interceptors, { tool, arguments: {}, callId: "c1" }, result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bus?.abort();
    this.folder[Symbol.dispose]();
  }
}

/** A session whose only hooks are these commands on `tool_call`. */
export function asking(...commands: string[]): Promise<Session> {
  return new Session().load({ setting: { tool_call: commands } });
}
