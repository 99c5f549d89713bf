import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { type CallContext, CallError } from "../../../sandbox/broker/broker.ts";
import { fsOperations } from "../../../sandbox/broker/fs.ts";
import { OpenResources } from "../../../sandbox/broker/resources.ts";
import { floorVerdict } from "../../../sandbox/permissions/floor.ts";
import type { Request } from "../../../sandbox/permissions/request.ts";
import { isInside } from "../../../src/base/files.ts";
import { Folder } from "../../support/folder.ts";

export interface Outcome {
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of it is what the test is about
  value: any;
  bytes?: Uint8Array;
}

/** An extension's view of a scratch folder: it may read and write `work`, read `seen`, and nothing of `secret`. */
export class Extension {
  readonly root = new Folder();
  readonly work = this.#folder("work");
  readonly seen = this.#folder("seen");
  readonly secret = this.#folder("secret");
  readonly dataDir = this.#folder("agent");
  readonly demands: Request[] = [];
  readonly context: CallContext;
  readonly resources: OpenResources;
  readonly end = new AbortController();

  constructor({ openFiles = 64, maxCallBytes = 1024 * 1024 } = {}) {
    this.resources = new OpenResources(openFiles);
    const folders = {
      cwd: this.work,
      home: this.root.path,
      data: join(this.dataDir, "storage", "own"),
      tmp: this.#folder("tmp"),
      dataDir: this.dataDir,
    };
    const has = (request: Request): boolean => {
      if (request.kind !== "read" && request.kind !== "write") return false;
      const verdict = floorVerdict(request.path, request.kind, folders);
      if (verdict !== "open") return verdict === "granted";
      const roots = request.kind === "read" ? [this.work, this.seen, folders.tmp] : [this.work, folders.tmp];
      return roots.some((root) => isInside(request.path, root));
    };
    this.context = {
      extension: "test",
      rights: {
        has,
        demand: async (request) => {
          this.demands.push(request);
          if (has(request)) return;
          const { path, written = path } = request as { path: string; written?: string };
          const message = `EACCES: permission denied: extension test may not ${request.kind} ${written}`;
          throw new CallError("EACCES", message, { permission: request.kind });
        },
      },
      folders,
      limits: { pendingCalls: 100, openFiles, maxCallBytes },
      env: {},
      resources: this.resources,
      signal: this.end.signal,
    };
  }

  async call(name: string, params: Record<string, unknown>, bytes?: Uint8Array): Promise<Outcome> {
    const operation = fsOperations[`fs.${name}`];
    if (!operation) throw new Error(`no operation ${name}`);
    const result = await operation.run(v.parse(operation.params, params), this.context, bytes);
    return result as Outcome;
  }

  /** The code of the error that a call ends with. */
  async code(name: string, params: Record<string, unknown>, bytes?: Uint8Array): Promise<string> {
    return (await this.error(name, params, bytes)).code;
  }

  async error(name: string, params: Record<string, unknown>, bytes?: Uint8Array): Promise<CallError> {
    try {
      await this.call(name, params, bytes);
    } catch (error) {
      if (error instanceof CallError) return error;
      throw error;
    }
    throw new Error(`${name} did not fail`);
  }

  read(path: string): Promise<string> {
    return this.call("readFile", { path, flags: { read: true } }).then(({ bytes }) => textOf(bytes));
  }

  write(path: string, text: string): Promise<Outcome> {
    return this.call("writeFile", { path, ...NEW_FILE }, bytesOf(text));
  }

  #folder(name: string): string {
    const path = join(this.root.path, name);
    mkdirSync(path);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end.abort();
    await this.resources.end();
    this.root[Symbol.dispose]();
  }
}

/** `w` of Node's. */
export const NEW_FILE = {
  flags: { write: true, create: true, truncate: true },
  mode: 0o666,
  flush: false,
};

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
