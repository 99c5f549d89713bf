/**
 * The network, for extensions: HTTP requests and nothing else. A request is started by `net.open`, which gives its number at
 * once; `net.response` waits for the head of the response. So each side can end it at every moment, and a body can be
 * sent while the response already comes.
 */
import * as v from "valibot";
import { CallError, type Operations, operation } from "./broker.ts";
import { NET_SETTINGS, type NetSettings } from "./net-connect.ts";
import { Exchange } from "./net-exchange.ts";
import { isToken, MAX_HEAD_BYTES, MAX_HEADERS } from "./net-headers.ts";
import { MAX_URL } from "./net-target.ts";

const KIND = "connection";

const idSchema = v.object({ id: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) });

const headerText = v.pipe(v.string(), v.maxLength(MAX_HEAD_BYTES));

const openSchema = v.object({
  url: v.pipe(v.string(), v.maxLength(MAX_URL)),
  method: v.pipe(v.string(), v.maxLength(32), v.check(isToken)),
  headers: v.pipe(v.array(v.tuple([headerText, headerText])), v.maxLength(MAX_HEADERS)),
  redirect: v.picklist(["follow", "error", "manual"]),
  decompress: v.boolean(),
  /** `bytes`: those beside the call. `stream`: sent by `net.write` and `net.end`. */
  body: v.picklist(["none", "bytes", "stream"]),
  /** Of a body that is streamed, in bytes, if it is known. */
  length: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
});

/** They make a tunnel, or tell what a proxy added. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** `settings`: for tests. */
export function createNetOperations(settings: NetSettings): Operations {
  return {
    "net.open": operation({
      params: openSchema,
      run({ url, method, headers, redirect, decompress, body, length }, context, bytes) {
        if (FORBIDDEN_METHODS.has(method.toUpperCase())) {
          throw new CallError(
            "ERR_INVALID_HTTP_METHOD",
            `the method ${method} is not available to extensions`,
          );
        }
        let id = 0;
        const exchange = new Exchange(
          {
            url,
            method,
            headers,
            redirect,
            decompress,
            body: body === "none" ? undefined : body === "stream" ? { length } : (bytes ?? new Uint8Array(0)),
          },
          context.rights,
          settings,
          () => void context.resources.remove(KIND, id),
        );
        id = context.resources.add(KIND, exchange, () => exchange.close());
        return { value: { id } };
      },
    }),

    "net.response": operation({
      params: idSchema,
      async run({ id }, context) {
        const exchange = context.resources.get<Exchange>(KIND, id);
        let hasBody = false;
        try {
          const answer = await exchange.response();
          hasBody = answer.hasBody;
          return { value: answer };
        } finally {
          if (!hasBody) exchange.close();
        }
      },
    }),

    /** Waits until there is room for more. */
    "net.write": operation({
      params: idSchema,
      async run({ id }, context, bytes) {
        await context.resources.get<Exchange>(KIND, id).write(bytes ?? new Uint8Array(0));
        return {};
      },
    }),

    "net.end": operation({
      params: idSchema,
      async run({ id }, context) {
        await context.resources.get<Exchange>(KIND, id).end();
        return {};
      },
    }),

    /** Gives `{end: true}` and no bytes at the end; the number is of no use then. */
    "net.read": operation({
      params: idSchema,
      async run({ id }, context) {
        const bytes = await context.resources.get<Exchange>(KIND, id).read();
        return bytes ? { value: { end: false }, bytes } : { value: { end: true } };
      },
    }),

    /** Ends it, at whatever point it is. One that is over is left alone. */
    "net.close": operation({
      params: idSchema,
      async run({ id }, context) {
        await context.resources.remove(KIND, id);
        return {};
      },
    }),
  };
}

export const netOperations: Operations = createNetOperations(NET_SETTINGS);
