const { deleteProperty } = Reflect;

/** The exceptions of the web's functions have these of their own, about the trusted code that called the function. */
const PLACES = ["stack", "line", "column", "sourceURL"] as const;

/** Throws an error of the runtime's on to the guest, without what it tells of the code and the files around. */
export function throwToGuest(error: unknown): never {
  if (typeof error === "object" && error !== null) {
    for (let i = 0; i < PLACES.length; i++) deleteProperty(error, PLACES[i] as string);
  }
  throw error;
}
