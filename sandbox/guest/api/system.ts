/** `xdev:system`: how our own modules in the compartment call the host. The host believes nothing that comes through it. */
import type { About, CallReturn, GuestHost } from "../protocol.ts";
import type { Transmitter } from "./transmit.ts";

const { parse, stringify } = JSON;

export function createSystem(
  host: GuestHost,
  about: About,
  transmitter: Transmitter,
): Record<string, unknown> {
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearImmediate } = globalThis;
  return {
    about,
    context: host.context,
    timers: { setTimeout, setInterval, setImmediate, clearTimeout, clearImmediate },
    randomBytes: host.randomBytes,
    subtle: host.subtle,
    log: (level: string, text: string) => transmitter.log(level, text),
    async call(operation: string, args: unknown, bytes?: Uint8Array) {
      return result(await host.call(operation, stringify(args ?? null), bytes));
    },
    callSync: (operation: string, args: unknown, bytes?: Uint8Array) =>
      result(host.callSync(operation, stringify(args ?? null), bytes)),
  };
}

function result(reply: CallReturn): { value: unknown; bytes: Uint8Array | undefined } {
  if (reply.error === undefined) return { value: parse(reply.text), bytes: reply.bytes };
  const { code, message, details } = parse(reply.error) as {
    code: string;
    message: string;
    details?: Record<string, unknown>;
  };
  throw Object.assign(new Error(message), details, { code });
}
