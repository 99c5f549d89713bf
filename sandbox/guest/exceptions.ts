const { deleteProperty, getPrototypeOf } = Reflect;
const { isError } = Error as unknown as { isError?(value: unknown): boolean };

/** The exceptions of the web's functions have these of their own, about the trusted code that called the function. */
const PLACES = ["stack", "line", "column", "sourceURL"] as const;
/** The classes whose prototypes lockdown freezes. */
const CLASSES = [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, Error];
const PROTOTYPES = CLASSES.map(({ prototype }) => prototype);
const ofTheWeb = DOMException.prototype;

/**
 * Throws an error of the runtime's on to the guest, without what it tells of the code and the files around. The runtime has classes of
 * its own for each code of its errors: of those the guest gets the class of the language that is nearest.
 */
export function throwToGuest(error: unknown): never {
  if (typeof error !== "object" || error === null) throw error;
  for (let i = 0; i < PLACES.length; i++) deleteProperty(error, PLACES[i] as string);
  throw ofTheLanguage(error);
}

function ofTheLanguage(error: object): unknown {
  if (!isError?.(error)) return error;
  const direct = getPrototypeOf(error);
  if (direct === ofTheWeb) return error;
  for (let at = direct; at !== null; at = getPrototypeOf(at)) {
    for (let i = 0; i < PROTOTYPES.length; i++) {
      if (PROTOTYPES[i] !== at) continue;
      if (at === direct) return error;
      const { message, code } = error as { message?: unknown; code?: unknown };
      const told = new (CLASSES[i] as ErrorConstructor)(`${message}`) as Error & { code?: unknown };
      if (typeof code === "string") told.code = code;
      for (let k = 0; k < PLACES.length; k++) deleteProperty(told, PLACES[k] as string);
      return told;
    }
  }
  return error;
}
