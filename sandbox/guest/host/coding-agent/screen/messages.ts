/** Messages, and runs of tools and programs, as the transcript shows them. */
import { Box, type Component, Container, Markdown, Spacer, Text } from "@earendil-works/pi-tui";
import { themes } from "./frame.ts";

interface Block {
  type: string;
  text?: string;
  thinking?: string;
}
interface Message {
  content?: string | readonly Block[];
  stopReason?: string;
  errorMessage?: string;
}

/** A component that is made anew when what it shows changes. */
abstract class Changing extends Container {
  protected pad = 1;
  protected expanded = false;

  protected abstract parts(): Component[];

  protected rebuild(): void {
    this.clear();
    for (const part of this.parts()) this.addChild(part);
  }

  setExpanded(expanded: boolean): void {
    this.expanded = expanded;
    this.rebuild();
  }

  setOutputPad(pad: number): void {
    this.pad = pad;
    this.rebuild();
  }

  override invalidate(): void {
    super.invalidate();
    this.rebuild();
  }
}

const textOf = (content: Message["content"]): string =>
  typeof content === "string"
    ? content
    : (content ?? []).flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n");

const markdown = (text: string, pad: number, theme = themes().getMarkdownTheme()): Markdown =>
  new Markdown(text, pad, 0, theme);

function boxed(color: string, children: readonly Component[]): Component {
  const box = new Box(1, 1, (text) => themes().theme.bg(color, text));
  for (const child of children) box.addChild(child);
  return box;
}

export class UserMessageComponent extends Changing {
  readonly #text: string;
  readonly #theme: never | undefined;

  constructor(text: string, markdownTheme?: never, pad = 1) {
    super();
    this.#text = text;
    this.#theme = markdownTheme;
    this.pad = pad;
    this.rebuild();
  }

  protected parts(): Component[] {
    return [new Spacer(1), boxed("userMessageBg", [markdown(this.#text, 0, this.#theme)])];
  }
}

export class AssistantMessageComponent extends Changing {
  #message: Message | undefined;
  #hide: boolean;
  #label: string;
  readonly #theme: never | undefined;

  constructor(
    message?: Message,
    hideThinking = false,
    markdownTheme?: never,
    label = "Thinking...",
    pad = 1,
  ) {
    super();
    this.#message = message;
    this.#hide = hideThinking;
    this.#theme = markdownTheme;
    this.#label = label;
    this.pad = pad;
    this.rebuild();
  }

  updateContent(message: Message): void {
    this.#message = message;
    this.rebuild();
  }

  setHideThinkingBlock(hide: boolean): void {
    this.#hide = hide;
    this.rebuild();
  }

  setHiddenThinkingLabel(label: string): void {
    this.#label = label;
    this.rebuild();
  }

  protected parts(): Component[] {
    const { theme } = themes();
    const message = this.#message;
    const content = message?.content ?? [];
    const blocks: readonly Block[] =
      typeof content === "string" ? [{ type: "text", text: content }] : content;
    const parts = blocks.flatMap((block): Component[] => {
      const text = (block.text ?? block.thinking ?? "").trim();
      if (text === "") return [];
      if (block.type === "text") return [markdown(text, this.pad, this.#theme)];
      if (block.type !== "thinking") return [];
      return [new Text(theme.italic(theme.fg("thinkingText", this.#hide ? this.#label : text)), this.pad, 0)];
    });
    if (message?.stopReason === "aborted") parts.push(new Text(theme.fg("error", "Aborted"), this.pad, 0));
    if (message?.stopReason === "error") {
      parts.push(new Text(theme.fg("error", `Error: ${message.errorMessage ?? "unknown"}`), this.pad, 0));
    }
    return parts.flatMap((part) => [new Spacer(1), part]);
  }
}

type Renderer = (message: unknown, options: { expanded: boolean }, theme: unknown) => Component | undefined;

export class CustomMessageComponent extends Changing {
  readonly #message: Message & { customType: string };
  readonly #renderer: Renderer | undefined;

  constructor(message: Message & { customType: string }, renderer?: Renderer, _theme?: unknown, pad = 1) {
    super();
    this.#message = message;
    this.#renderer = renderer;
    this.pad = pad;
    this.rebuild();
  }

  protected parts(): Component[] {
    const { theme } = themes();
    let drawn: Component | undefined;
    try {
      drawn = this.#renderer?.(this.#message, { expanded: this.expanded }, theme);
    } catch {
      // The plain form will do.
    }
    if (drawn) return [new Spacer(1), drawn];
    const label = theme.fg("customMessageLabel", theme.bold(`[${this.#message.customType}]`));
    const text = markdown(textOf(this.#message.content), 0);
    return [new Spacer(1), boxed("customMessageBg", [new Text(label, 0, 0), new Spacer(1), text])];
  }
}

/** A head, and below it a text that is shown when it is expanded. */
class Foldable extends Changing {
  readonly #label: string;
  readonly #head: string;
  readonly #text: string;

  constructor(label: string, head: string, text: string) {
    super();
    this.#label = label;
    this.#head = head;
    this.#text = text;
    this.rebuild();
  }

  protected parts(): Component[] {
    const { theme } = themes();
    const label = theme.fg("customMessageLabel", theme.bold(`[${this.#label}]`));
    const head = new Text(`${label} ${theme.fg("customMessageText", this.#head)}`, 0, 0);
    return [
      boxed("customMessageBg", this.expanded ? [head, new Spacer(1), markdown(this.#text, 0)] : [head]),
    ];
  }
}

export class BranchSummaryMessageComponent extends Foldable {
  constructor({ summary }: { summary: string }) {
    super("branch", "summary of another branch", summary);
  }
}

export class CompactionSummaryMessageComponent extends Foldable {
  constructor({ summary, tokensBefore }: { summary: string; tokensBefore: number }) {
    super("compaction", `${tokensBefore} tokens were compacted`, summary);
  }
}

export class SkillInvocationMessageComponent extends Foldable {
  constructor({ name, content }: { name: string; content: string }) {
    super("skill", name, content);
  }
}

interface ToolDrawing {
  label?: string;
  renderCall?: (...args: unknown[]) => Component | undefined;
  renderResult?: (...args: unknown[]) => Component | undefined;
}
interface ToolOutcome {
  content: readonly Block[];
  details?: unknown;
  isError?: boolean;
}

/** A call of a tool, and its result once there is one. Images are named, not drawn. */
export class ToolExecutionComponent extends Changing {
  readonly #name: string;
  readonly #drawing: ToolDrawing | undefined;
  readonly #context: Record<string, unknown>;
  #args: unknown;
  #result: ToolOutcome | undefined;
  #isPartial = true;

  constructor(
    name: string,
    toolCallId: string,
    args: unknown,
    options: { outputPad?: number } | undefined,
    drawing: ToolDrawing | undefined,
    ui: { requestRender?(): void } | undefined,
    cwd: string,
  ) {
    super();
    this.#name = name;
    this.#args = args;
    this.#drawing = drawing;
    this.pad = options?.outputPad ?? 1;
    this.#context = { toolCallId, cwd, state: {}, invalidate: () => ui?.requestRender?.() };
    this.rebuild();
  }

  updateArgs(args: unknown): void {
    this.#args = args;
    this.rebuild();
  }

  updateResult(result: ToolOutcome, isPartial = false): void {
    this.#result = result;
    this.#isPartial = isPartial;
    this.rebuild();
  }

  markExecutionStarted(): void {}
  setArgsComplete(): void {}
  setShowImages(): void {}
  setImageWidthCells(): void {}

  protected parts(): Component[] {
    const { theme } = themes();
    const options = { expanded: this.expanded, isPartial: this.#isPartial };
    const context = {
      ...this.#context,
      ...options,
      args: this.#args,
      isError: this.#result?.isError === true,
    };
    const call = this.#draw(() => this.#drawing?.renderCall?.(this.#args, theme, context));
    const plainCall = () => {
      const given = this.#args === undefined ? "" : ` ${JSON.stringify(this.#args)}`;
      return new Text(theme.fg("toolTitle", theme.bold(this.#drawing?.label ?? this.#name)) + given, 0, 0);
    };
    const children: Component[] = [call ?? plainCall()];
    const result = this.#result;
    if (result) {
      const drawn = this.#draw(() => this.#drawing?.renderResult?.(result, options, theme, context));
      children.push(drawn ?? new Text(theme.fg("toolOutput", outcomeText(result)), 0, 0));
    }
    const color = result?.isError ? "toolErrorBg" : this.#isPartial ? "toolPendingBg" : "toolSuccessBg";
    return [new Spacer(1), boxed(color, children)];
  }

  #draw(render: () => Component | undefined): Component | undefined {
    try {
      return render();
    } catch {
      return undefined;
    }
  }
}

function outcomeText({ content }: ToolOutcome): string {
  return content.map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`)).join("\n");
}

/** Lines of a program's output that are shown until it is expanded. */
const SHOWN_LINES = 20;

/** A command that the user ran, with its output as it comes. */
export class BashExecutionComponent extends Changing {
  readonly #command: string;
  #output = "";
  #end: string | undefined;

  constructor(command: string, _ui?: unknown, _excludeFromContext?: boolean, pad = 1) {
    super();
    this.#command = command;
    this.pad = pad;
    this.rebuild();
  }

  appendOutput(chunk: string): void {
    this.#output += chunk;
    this.rebuild();
  }

  setComplete(exitCode: number | undefined, cancelled: boolean): void {
    this.#end = cancelled ? "(cancelled)" : exitCode ? `(exit ${exitCode})` : "";
    this.rebuild();
  }

  getOutput(): string {
    return this.#output;
  }

  getCommand(): string {
    return this.#command;
  }

  protected parts(): Component[] {
    const { theme } = themes();
    const lines = this.#output.replace(/\n$/, "").split("\n");
    const shown = this.expanded ? lines : lines.slice(-SHOWN_LINES);
    const hidden = lines.length - shown.length;
    return [
      new Spacer(1),
      new Text(theme.fg("bashMode", theme.bold(`$ ${this.#command}`)), this.pad, 0),
      ...(hidden > 0 ? [new Text(theme.fg("muted", `… ${hidden} lines before`), this.pad, 0)] : []),
      ...(this.#output === "" ? [] : [new Text(theme.fg("muted", shown.join("\n")), this.pad, 0)]),
      ...(this.#end ? [new Text(theme.fg("warning", this.#end), this.pad, 0)] : []),
    ];
  }
}

/** A text as at most so many lines of the screen, from its beginning or (as a rule) its end. */
export function truncateToVisualLines(
  text: string,
  maxVisualLines: number,
  width: number,
  paddingX = 0,
  keep: "start" | "end" = "end",
): { visualLines: readonly string[]; skippedCount: number } {
  if (text === "") return { visualLines: [], skippedCount: 0 };
  const lines = new Text(text, paddingX, 0).render(width);
  if (lines.length <= maxVisualLines) return { visualLines: lines, skippedCount: 0 };
  const visualLines =
    keep === "start" ? lines.slice(0, maxVisualLines) : lines.slice(lines.length - maxVisualLines);
  return { visualLines, skippedCount: lines.length - maxVisualLines };
}
