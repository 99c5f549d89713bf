/**
 * The one slot that the engine carries from a piece of asynchronous work to what it starts, `await` and timers included; no
 * code in the compartment could follow an `await`. What lies in it is the guest's (node/async_hooks.ts), and nothing here looks at it.
 */
import { AsyncLocalStorage } from "node:async_hooks";

const slot = new AsyncLocalStorage<unknown>();

/** For `hardenAll`. */
export const asyncContext = {
  get: (): unknown => slot.getStore(),
  run: (value: unknown, callback: unknown): unknown => {
    if (typeof callback !== "function") throw new TypeError("callback must be a function");
    return slot.run(value, () => callback());
  },
  enter: (value: unknown): void => slot.enterWith(value),
};
