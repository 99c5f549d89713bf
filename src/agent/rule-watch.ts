/** Looks for stream rules in what the model says, as it says it. */
import { isAbsolute, relative } from "node:path";
import type { AssistantMessageEvent } from "@earendil-works/pi-ai";
import { log } from "../base/log.ts";
import { MAX_WINDOW, STEP } from "./stream-pattern.ts";
import type { StreamRule, StreamScope } from "./stream-rules.ts";

/** A rule that takes longer than this for one step is switched off, in ms. */
const SLOW_MS = 100;
const MAX_PATH = 1000;

/** Watches the model's stream. One for a session. */
export class RuleWatch {
  readonly #rules: readonly StreamRule[];
  readonly #triggered: Set<string>;
  readonly #slow = new Set<StreamRule>();
  readonly #cwd: string | undefined;
  readonly #blocks = new Map<number, Block>();

  /**
   * @param triggered names of rules that were told before, in a session that goes on
   * @param cwd paths in globs are relative to it
   */
  constructor(rules: readonly StreamRule[], triggered: Iterable<string> = [], cwd?: string) {
    this.#rules = rules;
    this.#triggered = new Set(triggered);
    this.#cwd = cwd;
  }

  /** False if there is nothing to watch for: then nobody needs to call `feed`. */
  get isActive(): boolean {
    return this.#rules.some((rule) => this.#waits(rule));
  }

  /** Names of the rules that have matched, to be kept with the session. */
  get triggered(): string[] {
    return [...this.#triggered];
  }

  /** A new message of the model begins. */
  startMessage(): void {
    this.#blocks.clear();
  }

  /**
   * Looks at one event of the message. Gives the rules that match with it, each once in a session: who gets them
   * aborts the turn, appends `ruleMessage(rules)` and lets the model try again. Its cost does not grow with the message.
   */
  feed(event: AssistantMessageEvent): StreamRule[] {
    switch (event.type) {
      case "text_delta":
      case "thinking_delta":
      case "toolcall_delta":
        return this.#take(event.contentIndex, event, event.delta);
      case "text_end":
      case "thinking_end":
      case "toolcall_end":
        return this.#take(event.contentIndex, event, undefined);
      default:
        return [];
    }
  }

  #waits(rule: StreamRule): boolean {
    return !this.#triggered.has(rule.name) && !this.#slow.has(rule);
  }

  #take(index: number, event: DeltaEvent, delta: string | undefined): StreamRule[] {
    let block = this.#blocks.get(index);
    if (!block) {
      const kind = event.type.startsWith("text")
        ? "text"
        : event.type.startsWith("thinking")
          ? "thinking"
          : "tool";
      const call = callOf(event);
      const rules = this.#rules.filter(
        (rule) => this.#waits(rule) && scopesFor(rule, kind, call?.name).length > 0,
      );
      block = new Block(kind, rules);
      this.#blocks.set(index, block);
    }
    block.take(delta, (rule, time) => {
      if (time <= SLOW_MS) return;
      this.#slow.add(rule);
      log.warn(
        `rule ${rule.name} took ${Math.round(time)} ms for a few words and is switched off: simplify its ttsr`,
      );
    });
    if (block.matched.size === 0) return [];
    const call = block.kind === "tool" ? callOf(event) : undefined;
    const found = [...block.matched].filter((rule) => {
      if (!this.#waits(rule)) return false;
      const isMeant = isAbout(scopesFor(rule, block.kind, call?.name), call, delta === undefined, this.#cwd);
      if (isMeant !== undefined) block.matched.delete(rule);
      return isMeant === true;
    });
    for (const rule of found) this.#triggered.add(rule.name);
    return found;
  }
}

type DeltaEvent = Extract<AssistantMessageEvent, { contentIndex: number }>;

/** A block of the message: a text, a thought, a tool call. */
class Block {
  readonly kind: StreamScope["kind"];
  /** Rules that match, of which it may not be known yet whether they are about this call. */
  readonly matched = new Set<StreamRule>();
  #waiting: StreamRule[];
  #text = "";
  #isCut = false;
  /** At the end of `#text`, not searched yet. */
  #fresh = 0;
  /** The beginning of an escape in JSON. */
  #carry = "";

  constructor(kind: StreamScope["kind"], rules: StreamRule[]) {
    this.kind = kind;
    this.#waiting = rules;
  }

  /** Takes what came; undefined at the block's end. Tells how long each rule took. */
  take(delta: string | undefined, onTime: (rule: StreamRule, ms: number) => void): void {
    if (this.#waiting.length === 0) return;
    if (delta === undefined) return this.#search(true, onTime);
    const text = this.kind === "tool" ? this.#unescape(delta) : delta;
    for (let at = 0; at < text.length && this.#waiting.length > 0; ) {
      const piece = text.slice(at, at + STEP - this.#fresh);
      at += piece.length;
      this.#text += piece;
      this.#fresh += piece.length;
      if (this.#fresh >= STEP || piece.includes("\n")) this.#search(false, onTime);
    }
  }

  #search(isWhole: boolean, onTime: (rule: StreamRule, ms: number) => void): void {
    this.#waiting = this.#waiting.filter((rule) => {
      const start = performance.now();
      const isFound = rule.matchers.some((one) => one.find(this.#text, this.#fresh, isWhole, this.#isCut));
      const time = performance.now() - start;
      onTime(rule, time);
      if (isFound) this.matched.add(rule);
      return !isFound && time <= SLOW_MS;
    });
    this.#fresh = 0;
    // Seldom, so that what is kept is not copied for each word.
    if (this.#text.length > 2 * MAX_WINDOW) {
      this.#text = this.#text.slice(-MAX_WINDOW - 1);
      this.#isCut = true;
    }
  }

  /** The arguments as they will be: `\n` in the JSON is a line's end in the file that is written. */
  #unescape(delta: string): string {
    const json = this.#carry + delta;
    const open = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(json);
    // An even number of backslashes is so many escaped ones.
    const isOpen = open !== null && (/\\*$/.exec(json.slice(0, open.index + 1))?.[0].length ?? 0) % 2 === 1;
    this.#carry = isOpen ? open[0] : "";
    const whole = isOpen ? json.slice(0, open.index) : json;
    return whole.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (_, code?: string, char?: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return ESCAPES[char!] ?? char!;
    });
  }
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** The scopes of a rule in which a block stands; of a call whose tool is not known yet, all that it may be in. */
function scopesFor(rule: StreamRule, kind: StreamScope["kind"], tool: string | undefined): StreamScope[] {
  return rule.scopes.filter(
    (scope) => scope.kind === kind && (scope.tool === undefined || !tool || scope.tool === tool),
  );
}

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

function callOf(event: DeltaEvent): Call | undefined {
  if (event.type === "toolcall_end") return event.toolCall;
  const block = event.partial.content[event.contentIndex];
  return block?.type === "toolCall" ? block : undefined;
}

/** Whether one of the scopes means this call; undefined as long as its name, or its path, is not all there. */
function isAbout(
  scopes: readonly StreamScope[],
  call: Call | undefined,
  isWhole: boolean,
  cwd: string | undefined,
): boolean | undefined {
  if (call?.name === "" && !isWhole) return undefined;
  if (scopes.some(({ globs }) => globs === undefined)) return true;
  const path = pathOf(call, isWhole);
  if (path === undefined) return isWhole ? false : undefined;
  const near = (cwd !== undefined && isAbsolute(path) ? relative(cwd, path) : path).replace(/^\.\//, "");
  return scopes.some(({ globs }) => globs?.some((matches) => matches(near)));
}

function pathOf(call: Call | undefined, isWhole: boolean): string | undefined {
  const args = call?.arguments ?? {};
  const key = ["path", "file_path", "filePath"].find((name) => typeof args[name] === "string");
  if (key === undefined) return undefined;
  // While it is the last member, more of it may come.
  const isOver = isWhole || Object.keys(args).at(-1) !== key;
  const path = args[key] as string;
  return isOver && path.length <= MAX_PATH ? path : undefined;
}
