/** Who is asked for a permission at the point of use, and how questions come one at a time. */
import type { Permission } from "./permissions.ts";
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

/** An asker that puts one question at a time, whichever extension it comes from, in their order. */
export function oneAtATime(asker: Asker): Asker {
  let last: Promise<unknown> = Promise.resolve();
  return {
    ask(question) {
      const answer = last.then(() => (question.signal.aborted ? "deny" : asker.ask(question)));
      last = answer.catch(() => {});
      return answer;
    },
  };
}
