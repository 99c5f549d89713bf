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
  /** What there was by the time it is asked counts. */
  denials?: Denials;
}

/** How often the user said no to questions of one package, in one session. */
export interface Denials {
  count: number;
}

/** After so many denials, nothing of that package is asked any more: nobody has to answer a hundred times. */
export const MAX_DENIALS = 5;

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
  denials?: Denials;
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
  const inTurn = <T>(
    { signal, denials }: Question | LoadQuestion,
    none: T,
    work: () => Promise<T>,
  ): Promise<T> => {
    const isTooMuch = () => signal.aborted || (denials?.count ?? 0) >= MAX_DENIALS;
    const answer = last.then(() => (isTooMuch() ? none : work()));
    // Whoever asked has counted the answer before the next question is put.
    last = answer.catch(() => {}).then(() => new Promise((resolve) => setImmediate(resolve)));
    return answer;
  };
  return {
    ask: (question) => inTurn<Answer>(question, "deny", () => user.ask(question)),
    askAtLoad: (question) => inTurn(question, undefined, () => user.askAtLoad(question)),
  };
}
