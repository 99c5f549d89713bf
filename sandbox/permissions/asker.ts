/** Who is asked for permissions, and how questions come one at a time. */
import type { Declaration } from "./declaration.ts";
import type { Permission, Permissions } from "./permissions.ts";
import type { Request } from "./request.ts";

/** `deny` is for now: it may be asked again. */
export type Answer = "once" | "session" | "always" | "never" | "deny";

export interface Question {
  extension: string;
  request: Request;
  /** What `session`, `always` and `never` are about. */
  permission: Permission;
  /** Whether `always` is more than `session`. */
  lasting: boolean;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
}

export interface Asker {
  /** A question that ends without an answer is `deny`; so is a rejection. */
  ask(question: Question): Promise<Answer>;
}

/** The question when an extension is loaded that asks for more than it was asked about before. */
export interface LoadQuestion {
  extension: string;
  /** Canonical, of its entry. */
  path: string;
  declaration: Declaration;
  /** What is to be decided: a part of what is declared. */
  toAsk: Permissions;
  /** What it has already. */
  had: Permissions;
  /** Whether it was loaded with other code before. */
  isChanged: boolean;
  signal: AbortSignal;
}

export interface LoadAnswer {
  /** Those of `toAsk` that are allowed; the others are not. */
  granted: Permissions;
  /** `session`: nothing is kept, and the next session asks again. */
  lasts: "always" | "session";
}

/** A user: `askAtLoad` gives undefined for no answer, which is a denial that is not kept. */
export interface User extends Asker {
  askAtLoad(question: LoadQuestion): Promise<LoadAnswer | undefined>;
}

/** A user who gets one question at a time, whichever extension it comes from, in their order. */
export function oneAtATime(user: User): User {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(signal: AbortSignal, none: T, work: () => Promise<T>): Promise<T> => {
    const answer = last.then(() => (signal.aborted ? none : work()));
    last = answer.catch(() => {});
    return answer;
  };
  return {
    ask: (question) => inTurn<Answer>(question.signal, "deny", () => user.ask(question)),
    askAtLoad: (question) => inTurn(question.signal, undefined, () => user.askAtLoad(question)),
  };
}
