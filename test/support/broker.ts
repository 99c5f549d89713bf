import { CallError, type Rights } from "../../sandbox/broker/broker.ts";
import { type Broker, type BrokerOptions, createBroker } from "../../sandbox/broker/index.ts";
import type { Request } from "../../sandbox/permissions/request.ts";

/** Rights that allow what `decide` says, and remember what they were asked. */
export class FakeRights implements Rights {
  readonly asked: Request[] = [];
  decide: (request: Request) => boolean;

  constructor(decide: (request: Request) => boolean = () => true) {
    this.decide = decide;
  }

  async demand(request: Request): Promise<void> {
    this.asked.push(request);
    if (!this.decide(request)) throw new CallError("EACCES", `EACCES: needs the permission ${request.kind}`);
  }

  has(request: Request): boolean {
    return this.decide(request);
  }
}

export interface TestBroker extends AsyncDisposable {
  broker: Broker;
  rights: FakeRights;
  faults: unknown[];
  /** A call by value: gives value and bytes, or throws an error with `code`. */
  call(
    operation: string,
    params?: unknown,
    bytes?: Uint8Array,
  ): Promise<{ value: unknown; bytes?: Uint8Array }>;
}

/** A broker that works in `folder`; `await using` closes it. */
export function testBroker(
  folder: string,
  options: Partial<Omit<BrokerOptions, "rights">> & { rights?: FakeRights } = {},
): TestBroker {
  const faults: unknown[] = [];
  const rights = options.rights ?? new FakeRights();
  const broker = createBroker({
    extension: "test",
    folders: {
      cwd: folder,
      home: "/home/nobody",
      data: `${folder}/data`,
      tmp: `${folder}/tmp`,
      dataDir: `${folder}/data-dir`,
    },
    limits: { pendingCalls: 64, openFiles: 16, maxCallBytes: 1024 * 1024 },
    env: process.env,
    onFault: (_, error) => void faults.push(error),
    ...options,
    rights,
  });
  return {
    broker,
    rights,
    faults,
    async call(operation, params = {}, bytes) {
      const answer = await broker.call(operation, JSON.stringify(params), bytes);
      if (answer.error === undefined) return { value: JSON.parse(answer.text), bytes: answer.bytes };
      const { code, message, details } = JSON.parse(answer.error);
      throw Object.assign(new Error(message), { ...details, code });
    },
    [Symbol.asyncDispose]: () => broker.close(),
  };
}
