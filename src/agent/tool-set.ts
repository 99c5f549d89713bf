/** The tools of a run: which there are, which the model may call, and what becomes of that when an extension goes or comes. */
import type { AgentTool } from "@earendil-works/pi-agent-core";
import { XdevError } from "../base/errors.ts";

type Tool = AgentTool<object, unknown> & {
  defaultInactive?: boolean;
  path?: string;
  promptSnippet?: string;
  promptGuidelines?: readonly string[];
};

export class ToolSet {
  readonly #load: () => readonly Tool[];
  #all: readonly Tool[];
  /** Names that are not offered; undefined until someone chose: then those are off that say so themselves. */
  #off: Set<string> | undefined;
  #only: readonly string[] | undefined;
  /** Names of xdev's own tools, if only those may be called, whatever is active. */
  #limit: ReadonlySet<string> | undefined;
  readonly #isOwn: (tool: Tool) => boolean;
  /** Called with the active tools whenever they change. */
  onChange: (active: Tool[]) => void = () => {};

  /**
   * @param load gives all tools as they are now
   * @param isOwn whether a tool is xdev's and no extension's
   * @param only the names of `--tools`; throws `XdevError` with code `usage` for one that no tool has
   */
  constructor(
    load: () => readonly Tool[],
    only: readonly string[] | undefined,
    isOwn: (tool: Tool) => boolean = () => true,
  ) {
    this.#isOwn = isOwn;
    this.#load = load;
    this.#all = load();
    this.#only = only;
    const unknown = only?.filter((name) => !this.#has(name)) ?? [];
    if (unknown.length > 0) {
      throw new XdevError("usage", `--tools: there is no tool ${unknown.join(", ")}`, {
        hint: `there are: ${this.#all.map((tool) => tool.name).join(", ")}`,
      });
    }
  }

  all(): readonly Tool[] {
    return this.#all;
  }

  /** The tools that the model may call, in the order that they have. */
  active(): Tool[] {
    return this.#all.filter((tool) => {
      const { name, defaultInactive } = tool;
      if (this.#limit && !(this.#limit.has(name) && this.#isOwn(tool))) return false;
      if (this.#off) return (this.#only?.includes(name) ?? true) && !this.#off.has(name);
      return this.#only?.includes(name) ?? defaultInactive !== true;
    });
  }

  /** Offers these and no others. Throws for a name that no tool has, or that `--tools` leaves out. */
  setActive(names: readonly string[]): void {
    const wrong = names.filter((name) => !this.#has(name) || !(this.#only?.includes(name) ?? true));
    if (wrong.length > 0) throw new Error(`there is no tool ${wrong.join(", ")}`);
    this.#off = new Set(this.#all.map(({ name }) => name).filter((name) => !names.includes(name)));
    this.onChange(this.active());
  }

  /** From now on only these of xdev's own tools, as far as they are active; undefined: all. What is active stays as it is. */
  limit(names: ReadonlySet<string> | undefined): void {
    this.#limit = names;
    this.onChange(this.active());
  }

  /** An extension was retired, or is back. */
  refresh(): void {
    this.#all = this.#load();
    this.onChange(this.active());
  }

  #has(name: string): boolean {
    return this.#all.some((tool) => tool.name === name);
  }
}
