/** The guest's own classes, for the npm package of Node's streams. */
export const { AbortController, AbortSignal } = globalThis;
