/**
 * What the manager knows of a transport. A channel carries frames and reports its end; it decides nothing: no time
 * limit, no policy, no schema. Everything that it hands up is unchecked.
 */
import type { HostFrame } from "./frame.ts";

export interface ChannelHandlers {
  /** A decoded message. The channel has parsed JSON and enforced the frame limit, nothing more. */
  onMessage(value: unknown): void;
  /** The other side broke the framing (not JSON, too long, not UTF-8): a protocol error. `problem` completes "extension x …". */
  onProblem(problem: string): void;
  /** A line for the extension's log: a process's standard error, a guest's console. */
  onLog(line: string): void;
  /** Something holds the other side up that is no doing of its own: its clocks stand still until the function that this gives is called. */
  hold?(): () => void;
  /** The other side is gone. Called exactly once, after the last message; `reason` completes "extension x …". */
  onClose(end: ChannelEnd): void;
}

export interface ChannelEnd {
  reason: string;
  exitCode?: number;
  signal?: string;
  /** True: it is no fault of the extension's, which is to be started again whatever the user has set. False: never by itself. */
  restart?: boolean;
}

export interface Channel {
  /** Starts the other side. Failures arrive as `onClose`. */
  open(handlers: ChannelHandlers): void;
  /** Sends a frame; never blocks and never throws. What can't be delivered ends in `onClose` or in the sender's time-out. */
  send(frame: HostFrame): void;
  /** Asks the other side to end, and kills what is left of it after `graceMs` milliseconds. */
  close(graceMs: number): Promise<void>;
  /** How often the other side has asked for something that is no frame of its own accord's, such as a system call. Unknown without it. */
  calls?(): number;
  /** Ends it now: the whole process group, or the worker. */
  kill(): Promise<void>;
}
