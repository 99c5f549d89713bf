/**
 * What a client may say in rpc mode: one JSON object a line, checked against these schemas before anything acts on it. The
 * commands are those of this family; `branch`, `get_branch_messages` and `abort_and_prompt` are xcsh's names.
 */
import * as v from "valibot";
import { errorText } from "../../base/errors.ts";

/** The longest line of a client in bytes: a prompt with a few images. */
export const LINE_LIMIT = 32 * 1024 * 1024;

const text = v.string();
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096), v.excludes("\0"));
const images = v.nullish(
  v.pipe(
    v.array(
      v.object({
        type: v.literal("image"),
        data: v.pipe(v.string(), v.regex(/^[A-Za-z0-9+/]+={0,2}$/, "no base64")),
        mimeType: v.pipe(v.string(), v.maxLength(100), v.regex(/^image\/[\w.+-]+$/, "no type of an image")),
      }),
    ),
    v.maxLength(100),
  ),
);
const mode = v.picklist(["all", "one-at-a-time"]);
const entry = { entryId: name };

/** The members of each command, besides `type` and `id`. Others are ignored. */
export const COMMANDS = {
  prompt: { message: text, images, streamingBehavior: v.nullish(v.picklist(["steer", "followUp"])) },
  steer: { message: text, images },
  follow_up: { message: text, images },
  abort: {},
  abort_and_prompt: { message: text, images },
  clear_queue: {},
  new_session: { parentSession: v.nullish(path) },
  get_state: {},
  get_messages: {},
  get_entries: { since: v.nullish(name) },
  get_tree: {},
  set_model: { provider: name, modelId: name },
  cycle_model: {},
  get_available_models: {},
  set_thinking_level: { level: v.picklist(["off", "minimal", "low", "medium", "high", "xhigh", "max"]) },
  cycle_thinking_level: {},
  get_available_thinking_levels: {},
  set_steering_mode: { mode },
  set_follow_up_mode: { mode },
  compact: { customInstructions: v.nullish(text) },
  set_auto_compaction: { enabled: v.boolean() },
  set_auto_retry: { enabled: v.boolean() },
  abort_retry: {},
  bash: { command: text, excludeFromContext: v.nullish(v.boolean()) },
  abort_bash: {},
  get_session_stats: {},
  export_html: { outputPath: v.nullish(path) },
  switch_session: { sessionPath: path },
  fork: entry,
  branch: entry,
  clone: {},
  get_fork_messages: {},
  get_branch_messages: {},
  get_last_assistant_text: {},
  set_session_name: { name: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(1000)) },
  get_commands: {},
  get_completions: { command: name, prefix: v.nullish(v.pipe(text, v.maxLength(10_000))) },
  get_shortcuts: {},
  run_shortcut: { key: name },
} as const satisfies Record<string, v.ObjectEntries>;

export type CommandType = keyof typeof COMMANDS;
export type CommandOf<T extends CommandType> = OutputOf<(typeof COMMANDS)[T]>;
type OutputOf<E> = { -readonly [K in keyof E]: E[K] extends v.GenericSchema ? v.InferOutput<E[K]> : never };

export interface Command<T extends CommandType = CommandType> {
  kind: "command";
  type: T;
  id: string | undefined;
  params: CommandOf<T>;
}

/** What the client answers to an `extension_ui_request`. */
export type DialogAnswer = { id: string; value?: string; confirmed?: boolean; cancelled?: boolean };

/** Why a line is no command. */
export interface Malformed {
  kind: "malformed";
  /** The response's `command`: the type that the line has, or `parse`. */
  command: string;
  id: string | undefined;
  error: string;
}

const head = v.object({
  type: v.pipe(v.string(), v.maxLength(100)),
  id: v.nullish(v.pipe(v.string(), v.maxLength(1000))),
});

const answer = v.object({
  id: v.pipe(v.string(), v.maxLength(1000)),
  value: v.optional(text),
  confirmed: v.optional(v.boolean()),
  cancelled: v.optional(v.boolean()),
});

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Looks at a line. Never throws. */
export function parseLine(line: Uint8Array): Command | { kind: "answer"; answer: DialogAnswer } | Malformed {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(line));
  } catch (error) {
    return malformed("parse", undefined, `Failed to parse command: ${errorText(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return malformed("parse", undefined, "Failed to parse command: it is no JSON object");
  }
  const { type: itsType, id: itsId } = value as { type?: unknown; id?: unknown };
  const command = typeof itsType === "string" ? itsType.slice(0, 100) : "parse";
  const id = typeof itsId === "string" ? itsId.slice(0, 1000) : undefined;
  const known = v.safeParse(head, value);
  if (!known.success) return malformed(command, id, problemOf(known.issues[0]));
  const { type } = known.output;
  if (type === "extension_ui_response") {
    const checked = v.safeParse(answer, value);
    if (!checked.success) return malformed(command, id, problemOf(checked.issues[0]));
    const { value: text, confirmed, cancelled } = checked.output;
    return {
      kind: "answer",
      answer: {
        id: checked.output.id,
        ...(text === undefined ? {} : { value: text }),
        ...(confirmed === undefined ? {} : { confirmed }),
        ...(cancelled === undefined ? {} : { cancelled }),
      },
    };
  }
  if (!isCommand(type)) return malformed(command, id, `Unknown command: ${type}`);
  const params = v.safeParse(v.object(COMMANDS[type] as v.ObjectEntries), value, { abortEarly: true });
  if (!params.success) return malformed(command, id, problemOf(params.issues[0]));
  return { kind: "command", type, id, params: params.output as CommandOf<CommandType> };
}

function isCommand(type: string): type is CommandType {
  return Object.hasOwn(COMMANDS, type);
}

function malformed(command: string, id: string | undefined, error: string): Malformed {
  return { kind: "malformed", command, id, error };
}

/** Names the member; what it holds may be long, or a secret. */
function problemOf(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const expected = issue.expected ?? issue.message;
  const isMissing = issue.input === undefined;
  return `${path ?? "the command"}: ${isMissing ? "is missing" : `is not ${expected}`}`;
}
