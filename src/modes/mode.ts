import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { User } from "../../sandbox/permissions/asker.ts";
import type { AgentSession, SessionEvent } from "../agent/agent-session-types.ts";
import type { CallServices } from "../extensions/calls.ts";
import type { SessionHeader } from "../session/types.ts";

/** What a run is shown through. A mode writes; it decides nothing about the run. */
export interface Mode {
  /** The session is known; without a header: there will be none. The second call does nothing. */
  begin(header: SessionHeader | undefined): void;
  /** Where it gives a promise, its reader does not keep up, and is waited for. */
  event(event: SessionEvent): void | Promise<void>;
  /** Something that the user has to know and the model has not. */
  notice(text: string): void;
  /** Text that is the answer although no model gave it (an extension's command). */
  say(text: string): void;
  /** The run is over. Says what is left to say; true if the run succeeded. */
  finish(messages: readonly AgentMessage[], end: RunEnd): boolean;
  /** A mode in which prompts come from a client. */
  client?: Client;
}

/** A program that drives the session, and the user behind it. */
export interface Client {
  /** What extensions ask and show. */
  ui: Required<Pick<CallServices, "notify" | "dialogs">> &
    Pick<CallServices, "setStatus" | "setWidget" | "setTitle" | "setEditorText">;
  /** Whether dialogs reach the user. */
  hasUI(): boolean;
  /** Told the session's id as soon as it is known: extensions may ask for permissions while they load. */
  identify?(sessionId: string): void;
  /** Who is asked for permissions. */
  user(): Promise<User>;
  /**
   * Serves the client until it is gone, and disposes of the session; or until the program is interrupted, and leaves that to the
   * caller. Gives the exit status.
   */
  serve(served: Served): Promise<number>;
}

export interface Served {
  session: AgentSession;
  dataDir: string;
  /** Absolute. */
  cwd: string;
  /** Begins the session (`session.start`). */
  start: () => Promise<void>;
  /** Resolves when an extension wants the program to end; then it ends as if the client had gone, when nothing goes on. */
  ending?: Promise<void>;
}

export interface RunEnd {
  /** Set if that limit ended it. */
  maxTurns?: number;
  /** The user ended it. */
  interrupted?: boolean;
}

/** Why a run failed, for a person, or undefined if it did not. */
export function failureOf(messages: readonly AgentMessage[], end: RunEnd): string | undefined {
  const { maxTurns } = end;
  if (end.interrupted) return "interrupted";
  if (maxTurns !== undefined) return `stopped after ${maxTurns} turns (--max-turns)`;
  const last = messages.findLast((message) => message.role === "assistant");
  if (last?.role !== "assistant") return "the model gave no answer";
  if (last.stopReason === "error") return last.errorMessage || "the model gave an error without a text";
  if (last.stopReason === "aborted") return "interrupted";
  if (last.stopReason === "length")
    return "the answer was cut off: it reached the model's limit of output tokens";
  return undefined;
}
