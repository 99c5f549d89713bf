/** What a text of the user goes through before the model sees it: commands, `input`, skills and templates, `before_agent_start`. */
import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { ImageContent } from "@earendil-works/pi-ai";
import { XdevError } from "../../base/errors.ts";
import { stripControls } from "../../base/text.ts";
import { parsePatch } from "../../extensions/frame.ts";
import type { Disposition, InputSource, PromptOptions, StreamingBehavior } from "../agent-session-types.ts";
import { parseResult } from "../extension-results.ts";
import type { Core } from "./core.ts";
import { recordChoices } from "./models.ts";
import { RELOAD, reload } from "./reload.ts";
import { expandResources } from "./resources.ts";
import { Run } from "./run.ts";
import { resetTodos } from "./todo.ts";

export async function prompt(core: Core, text: string, options: PromptOptions): Promise<Disposition> {
  const accepting = new AbortController();
  core.accepting.add(accepting);
  try {
    return await accept(core, text, options, accepting.signal);
  } finally {
    core.accepting.delete(accepting);
  }
}

/** Whoever aborts before there is a run has this prompt in mind: then it starts none. */
async function accept(
  core: Core,
  text: string,
  options: PromptOptions,
  signal: AbortSignal,
): Promise<Disposition> {
  const { streamingBehavior, expand = true, source = "interactive" } = options;
  const refuseAborted = (): void => {
    if (signal.aborted) throw new XdevError("aborted", "the prompt was cancelled before its run began");
  };
  const failed = (error: unknown): never => {
    refuseAborted();
    throw error;
  };
  core.mustBeOpen();
  if (expand && text.trim() === RELOAD) {
    await reload(core);
    return "handled";
  }
  if (expand && text.startsWith("/")) {
    const isCommand = await runCommand(core, text, signal).catch(failed);
    refuseAborted();
    if (isCommand) return "handled";
  }
  await core.exchanging?.catch(() => {});
  // Who may not queue is told before anyone is asked.
  if (core.run && streamingBehavior === undefined) throw busy();
  if (!core.run && !core.model) throw noModel();
  const input = await askInput(
    core,
    text,
    options.images ?? [],
    source,
    { expand, streamingBehavior: core.run ? streamingBehavior : undefined },
    signal,
  ).catch(failed);
  refuseAborted();
  if (!input) return "handled";
  core.mustBeOpen();
  const message = userMessage(input.text, input.images);
  if (core.run) {
    if (streamingBehavior === undefined) throw busy();
    (streamingBehavior === "steer" ? core.steering : core.followUps).add(message);
    return "queued";
  }
  begin(core, text, message, input);
  return "started";
}

/** For `steer` and `followUp`: no commands, and never a run of its own. */
export async function enqueue(
  core: Core,
  where: "steer" | "followUp",
  text: string,
  images: readonly ImageContent[],
  source: InputSource,
): Promise<Disposition> {
  if (text.startsWith("/") && core.options.manager?.findCommand(text.split(/\s/, 1)[0] ?? "")) {
    throw new XdevError("usage", "a command of an extension can't be queued: use a prompt for it");
  }
  const input = await askInput(core, text, images, source, { expand: true, streamingBehavior: where });
  if (!input) return "handled";
  (where === "steer" ? core.steering : core.followUps).add(userMessage(input.text, input.images));
  return "queued";
}

/** Starts a run with a message of an extension, or with nothing but what waits. */
export function beginWith(core: Core, messages: AgentMessage[]): void {
  core.mustBeOpen();
  if (!core.model) throw noModel();
  const run = new Run(core);
  core.run = run;
  void run.go(async (signal) => {
    await ready(core, signal);
    core.setSystemPrompt(core.systemPrompt);
    return [...core.nextTurn.splice(0), ...messages];
  });
}

function begin(
  core: Core,
  typed: string,
  message: AgentMessage,
  { text, images }: { text: string; images: readonly ImageContent[] },
): void {
  resetTodos(core);
  core.options.queue?.startRun();
  const run = new Run(core);
  core.run = run;
  void run.go(async (signal) => {
    await ready(core, signal);
    const [{ isContextFull }, asked] = await Promise.all([
      import("./usage.ts"),
      askBeforeStart(core, text, images, signal),
    ]);
    core.setSystemPrompt(asked.systemPrompt);
    if (isContextFull(core)) {
      const { compactAutomatically } = await import("./compaction.ts");
      await compactAutomatically(core, "threshold", run, true);
      core.setSystemPrompt(asked.systemPrompt);
    }
    giveTitle(core, typed);
    return [...core.nextTurn.splice(0), message, ...asked.messages];
  });
}

/** Waits for a compaction that the user asked for, and keeps what was chosen for the requests to come. */
async function ready(core: Core, signal: AbortSignal): Promise<void> {
  await core.compacting?.done;
  if (!signal.aborted) recordChoices(core);
}

function userMessage(text: string, images: readonly ImageContent[]): AgentMessage {
  return { role: "user", content: [{ type: "text", text }, ...images], timestamp: Date.now() };
}

/** `input`: each module sees what the one before made of it. Undefined if one has handled it. */
async function askInput(
  core: Core,
  text: string,
  images: readonly ImageContent[],
  source: InputSource,
  { expand, streamingBehavior }: { expand: boolean; streamingBehavior?: StreamingBehavior | undefined },
  signal?: AbortSignal,
): Promise<{ text: string; images: readonly ImageContent[] } | undefined> {
  let current = { text, images };
  let isHandled = false;
  await core.events?.ask(
    "input",
    () => ({ ...current, source, ...(streamingBehavior ? { streamingBehavior } : {}) }),
    (result) => {
      const { handled, text, images } = parseResult("input", result);
      current = { text: text ?? current.text, images: images ?? current.images };
      isHandled = handled === true;
      return isHandled;
    },
    signal ? { signal } : {},
  );
  if (isHandled) return undefined;
  return expand ? { ...current, text: await expandResources(core, current.text) } : current;
}

/** `before_agent_start`, hooks first: the messages of all, and the system prompt that the last one left. */
async function askBeforeStart(
  core: Core,
  text: string,
  images: readonly ImageContent[],
  signal: AbortSignal,
): Promise<{ messages: AgentMessage[]; systemPrompt: string }> {
  const { hooks } = core.options;
  let systemPrompt = hooks ? await hooks.prepare(text, core.systemPrompt, signal) : core.systemPrompt;
  const messages: AgentMessage[] = [];
  await core.events?.ask(
    "before_agent_start",
    () => ({ prompt: text, images, systemPrompt }),
    (result) => {
      const asked = parseResult("before_agent_start", result);
      systemPrompt = asked.systemPrompt ?? systemPrompt;
      for (const { customType, content, display, details } of asked.messages ?? []) {
        messages.push({
          role: "custom",
          customType,
          content: content as Extract<AgentMessage, { role: "custom" }>["content"],
          display: display ?? true,
          ...(details === undefined ? {} : { details }),
          timestamp: Date.now(),
        });
      }
      return undefined;
    },
    { signal },
  );
  return { messages, systemPrompt };
}

/** The first prompt names the session, as long as nobody has. */
function giveTitle(core: Core, text: string): void {
  if (core.store.name !== undefined) return;
  if (core.messages.some(({ role }) => role === "user")) return;
  const name = titleOf(text);
  if (name === "") return;
  core.keep({ type: "session_info", name });
  core.publish({ type: "session_info_changed", name });
}

const MAX_TITLE = 60;

/** The first line, cut at a word. */
export function titleOf(text: string): string {
  const line = stripControls(text.trim().split("\n", 1)[0] ?? "").replace(/\s+/g, " ");
  if (line.length <= MAX_TITLE) return line;
  const cut = line.slice(0, MAX_TITLE);
  const space = cut.lastIndexOf(" ");
  return `${(space > MAX_TITLE / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** Runs the command of an extension that a text names; false if it names none. Rejects with what the extension says went wrong. */
async function runCommand(core: Core, text: string, signal: AbortSignal): Promise<boolean> {
  const [word = ""] = text.split(/\s/, 1);
  const found = core.options.manager?.findCommand(word);
  if (!found) {
    if (!word.startsWith("/ext:")) return false;
    const known = core.options.manager?.commands().map((command) => command.word) ?? [];
    throw new XdevError("usage", `there is no command ${word}`, {
      hint: known.length > 0 ? `there are: ${known.join(", ")}` : "no extension has a command",
    });
  }
  const { extension, command } = found;
  const args = text.slice(word.length).replace(/^\s/, "");
  const before = core.reloads;
  const reply = await extension.request(
    "command",
    { command, arguments: args },
    { timeoutMs: extension.limits.toolTimeoutMs, signal },
  );
  // Its frame may have ended with `ctx.reload()`: what it asked for is part of it.
  if (core.reloads !== before) await core.reloads?.catch(() => {});
  if (signal.aborted) return true;
  const fail = (reason: string) => new XdevError("extension-error", `extension ${extension.name}: ${reason}`);
  if (reply.error != null) throw fail(reply.error);
  const patch = parsePatch(reply.patch);
  if (patch && "problem" in patch) throw fail(patch.problem);
  if (patch?.text) core.emit({ type: "command_output", text: patch.text });
  return true;
}

function busy(): XdevError {
  return new XdevError("busy", "a run goes on: say whether the text is to steer it or to follow it", {
    hint: 'streamingBehavior: "steer" or "followUp"',
  });
}

function noModel(): XdevError {
  return new XdevError("no-model", "no model is chosen", { hint: "choose one; `xdev models` lists them" });
}
