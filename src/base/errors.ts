/**
 * The one error class that callers decide on. `code` is for programs, `message` names the thing and the
 * reason, `hint` tells the user the way out. Neither may hold a secret: both are printed and logged.
 */
export class XdevError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "XdevError";
    this.code = code;
    this.hint = options.hint;
  }
}

/** The text of anything that was thrown, for a person: never a stack trace, never `[object Object]`. */
export function errorText(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error === "string") return error;
  try {
    return JSON.stringify(error) ?? String(error);
  } catch {
    return "unknown error";
  }
}

/** The code of a Node.js system error (`ENOENT`, `EACCES`, …), or undefined. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}
