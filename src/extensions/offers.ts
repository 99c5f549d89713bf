/**
 * What extensions offer to whoever shows a session, tools aside: flags of the command line, shortcuts, completions, and drawings. What
 * can't be had is skipped, and told once.
 */
import * as v from "valibot";
import { errorText, XdevError } from "../base/errors.ts";
import { log } from "../base/log.ts";
import { oneLine } from "../base/text.ts";
import type { Extension } from "./extension.ts";
import type { ToolSpec } from "./frame.ts";
import { isReserved, parseKey } from "./keys.ts";

/** How long whoever draws or types waits for an extension, in ms. The extension has longer until it is ended. */
export const RENDER_MS = 250;
export const COMPLETION_MS = 500;

export interface OfferedFlag {
  extension: Extension;
  name: string;
  description: string;
  type: "boolean" | "string";
  default: boolean | string | undefined;
}

export interface OfferedShortcut {
  extension: Extension;
  /** In its one spelling (keys.ts). */
  key: string;
  description: string;
}

export interface Completion {
  value: string;
  label: string;
  description?: string;
}

/** What is to be drawn. */
export interface Drawing {
  what: "toolCall" | "toolResult" | "message" | "entry";
  /** The tool's as the model knows it, or the type's of the message or the entry. */
  name: string;
  callId?: string;
  args?: unknown;
  result?: unknown;
  /** The message or the entry. */
  value?: unknown;
  options?: { expanded?: boolean; isPartial?: boolean; [member: string]: unknown };
  /** In terminal columns, 1 or more. */
  width: number;
  /** The name of the theme that is drawn with: when it is another than before, extensions ask for its colours (`ui.theme`). */
  theme?: string;
}

const FLAG_NAME = /^[A-Za-z][\w-]{0,63}$/;

const completionsSchema = v.nullish(
  v.pipe(
    v.array(
      v.object({
        value: v.pipe(v.string(), v.maxLength(1000)),
        label: v.nullish(v.pipe(v.string(), v.maxLength(1000))),
        description: v.nullish(v.pipe(v.string(), v.maxLength(1000))),
      }),
    ),
    v.maxLength(1000),
  ),
);
const drawn = v.nullish(v.object({ lines: v.pipe(v.array(v.string()), v.maxLength(20_000)) }));
const transformed = v.nullish(v.object({ text: v.pipe(v.string(), v.maxLength(4_000_000)) }));

export class Offers {
  readonly #ready: () => readonly Extension[];
  readonly #ownTools: (extension: Extension) => ReadonlyMap<string, string> | undefined;
  readonly #noticeOnce: (text: string) => void;

  /** @param ownTools the tools that an extension really has: from the announced name to the agent's */
  constructor(
    ready: () => readonly Extension[],
    ownTools: (extension: Extension) => ReadonlyMap<string, string> | undefined,
    noticeOnce: (text: string) => void,
  ) {
    this.#ready = ready;
    this.#ownTools = ownTools;
    this.#noticeOnce = noticeOnce;
  }

  /** `taken` are the names of xdev's own options. Of two extensions with one name, the first has it. */
  flags(taken: ReadonlySet<string>): OfferedFlag[] {
    const flags = new Map<string, OfferedFlag>();
    for (const extension of this.#ready()) {
      for (const spec of extension.capabilities?.flags ?? []) {
        const { name, type } = spec;
        const skip = (why: string) =>
          this.#noticeOnce(`extension ${extension.name}: its flag --${oneLine(name)} is skipped, ${why}`);
        const other = flags.get(name);
        if (!FLAG_NAME.test(name)) skip("an option has letters, digits, - and _");
        else if (taken.has(name)) skip("xdev has an option of that name");
        else if (other) skip(`extension ${other.extension.name} has one of that name`);
        else {
          const description = oneLine(spec.description ?? "").slice(0, 200);
          const value = typeof spec.default === type ? (spec.default ?? undefined) : undefined;
          flags.set(name, { extension, name, description, type, default: value });
        }
      }
    }
    return [...flags.values()];
  }

  /** Of two with one key, the last has it. */
  shortcuts(): OfferedShortcut[] {
    const shortcuts = new Map<string, OfferedShortcut>();
    for (const extension of this.#ready()) {
      for (const spec of extension.capabilities?.shortcuts ?? []) {
        const key = parseKey(spec.name);
        const skip = (name: string, who: string, why: string) =>
          this.#noticeOnce(`extension ${who}: its shortcut ${oneLine(name)} is skipped, ${why}`);
        if (key === undefined) skip(spec.name, extension.name, "that is no key");
        else if (isReserved(key)) skip(spec.name, extension.name, "xdev has that key");
        else {
          const other = shortcuts.get(key);
          if (other && other.extension !== extension) {
            skip(key, other.extension.name, `extension ${extension.name} has one of that key`);
          }
          const description = oneLine(spec.description ?? "").slice(0, 200);
          shortcuts.set(key, { extension, key, description });
        }
      }
    }
    return [...shortcuts.values()];
  }

  /** Runs what an extension has put on a key. Rejects with what went wrong, and with `usage` for a key that nobody has. */
  async runShortcut(text: string, signal?: AbortSignal): Promise<void> {
    const key = parseKey(text);
    const found = this.shortcuts().find((shortcut) => shortcut.key === key);
    if (!found) throw new XdevError("usage", `no extension has the shortcut ${oneLine(text.slice(0, 40))}`);
    const { extension } = found;
    // The extension knows it by its own spelling.
    const own = extension.capabilities?.shortcuts.findLast(({ name }) => parseKey(name) === key)?.name ?? key;
    const reply = await extension.request(
      "shortcut",
      { key: own },
      { timeoutMs: extension.limits.toolTimeoutMs, ...(signal ? { signal } : {}) },
    );
    if (reply.error != null) {
      throw new XdevError(
        "extension-error",
        `extension ${extension.name}: ${oneLine(reply.error) || "failed"}`,
      );
    }
  }

  /** What may follow a command of an extension; nothing if the extension takes too long or fails. */
  async complete(
    extension: Extension,
    command: string,
    prefix: string,
    limitMs: number = COMPLETION_MS,
  ): Promise<Completion[]> {
    const spec = extension.capabilities?.commands.find(({ name }) => name === command);
    if (!spec) return [];
    const fixed = spec.completions
      .map(oneLine)
      .filter((text) => text.startsWith(prefix))
      .map((value) => ({ value, label: value }));
    if (spec.completes !== true) return fixed;
    const given = await this.#ask(extension, "completions", { command, prefix }, completionsSchema, limitMs);
    const asked = (given ?? []).map(({ value, label, description }) => ({
      value: oneLine(value),
      label: oneLine(label ?? value),
      ...(description == null ? {} : { description: oneLine(description) }),
    }));
    return [...fixed, ...asked];
  }

  /**
   * Lines that an extension has drawn, safe for a terminal and no wider than `width`; undefined if none draws it, or not in time:
   * then it is shown as without extensions.
   */
  async draw(drawing: Drawing, limitMs: number = RENDER_MS): Promise<string[] | undefined> {
    const until = performance.now() + limitMs;
    for (const { extension, name } of this.#painters(drawing)) {
      const left = until - performance.now();
      if (left <= 0) return undefined;
      const made = await this.#ask(extension, "render", { ...drawing, name }, drawn, left);
      if (!made) continue;
      const { MAX_DRAWN_LINES, styledLine } = await import("./render/styled-line.ts");
      return made.lines.slice(0, MAX_DRAWN_LINES).map((line) => styledLine(line, drawing.width));
    }
    return undefined;
  }

  /** Markdown as the extensions that change it leave it, one after the other; one that is late or fails changes nothing. */
  async transformMarkdown(
    text: string,
    options: { messageType: string; isStreaming?: boolean; width: number },
    limitMs: number = RENDER_MS,
  ): Promise<string> {
    let current = text;
    const { width, ...rest } = options;
    for (const extension of this.#ready()) {
      if (extension.capabilities?.transformsMarkdown !== true) continue;
      const payload = { what: "markdown", name: "", text: current, options: rest, width };
      current = (await this.#ask(extension, "render", payload, transformed, limitMs))?.text ?? current;
    }
    return current;
  }

  /** Who may draw it, in the order in which they are asked, with the name that they have for it. */
  #painters({ what, name }: Drawing): { extension: Extension; name: string }[] {
    const ready = this.#ready();
    if (what === "message" || what === "entry") {
      const list = what === "message" ? "messageRenderers" : "entryRenderers";
      return ready.flatMap((extension) =>
        extension.capabilities?.[list].includes(name) ? [{ extension, name }] : [],
      );
    }
    const member = what === "toolCall" ? "drawsCall" : "drawsResult";
    const owns = ready.flatMap((extension) => {
      const spec = this.#specOf(extension, name);
      return spec ? [{ extension, name: spec.name, draws: spec[member] === true }] : [];
    });
    const all = ready.flatMap((extension) => {
      const own = owns.find((one) => one.extension === extension);
      return extension.capabilities?.drawsTools === true ? [{ extension, name: own?.name ?? name }] : [];
    });
    const rest = owns.filter(
      ({ extension, draws }) => draws && !all.some((one) => one.extension === extension),
    );
    return [...all, ...rest];
  }

  #specOf(extension: Extension, agentName: string): ToolSpec | undefined {
    const tools = this.#ownTools(extension);
    return extension.capabilities?.tools.find(({ name }) => tools?.get(name) === agentName);
  }

  /** Undefined if it does not answer in time, or not as it should. */
  async #ask<S extends v.GenericSchema>(
    extension: Extension,
    event: "completions" | "render",
    payload: unknown,
    schema: S,
    limitMs: number,
  ): Promise<v.InferOutput<S> | undefined> {
    try {
      const reply = await extension.request(event, payload, {
        timeoutMs: extension.limits.eventTimeoutMs,
        signal: AbortSignal.timeout(Math.max(1, Math.ceil(limitMs))),
      });
      if (reply.error != null) throw new Error(reply.error);
      const result = v.safeParse(schema, reply.result, { abortEarly: true });
      if (!result.success) throw new Error(`its answer is not what ${event} has`);
      return result.output;
    } catch (error) {
      log.debug(`extension ${extension.name}: ${event}: ${oneLine(errorText(error))}`);
      return undefined;
    }
  }
}
