/**
 * The user of rpc mode: whoever is behind the client. What extensions ask or show goes out as an `extension_ui_request`; a dialog
 * waits for the `extension_ui_response` with its id. One that nobody answers any more gives its default: undefined, or false.
 */
import type { Dialog } from "../../../sandbox/permissions/prompt.ts";
import type { DialogOptions, Dialogs } from "../../extensions/calls.ts";
import type { DialogAnswer } from "./commands.ts";

/** So many questions may stand at a time; a further one gets its default. */
const PENDING_LIMIT = 1000;

interface Pending {
  /** Undefined: this is an answer to the question. Otherwise why it is none. */
  take(answer: DialogAnswer): string | undefined;
  dismiss(): void;
}

/** `extension_ui_request` without its type and id. */
type Request =
  | { method: "select"; title: string; options: readonly string[] }
  | { method: "confirm"; title: string; message: string }
  | { method: "input"; title: string; placeholder?: string }
  | { method: "editor"; title: string; prefill?: string };

type Shown =
  | { method: "notify"; message: string; notifyType: "info" | "warning" | "error" }
  | { method: "setStatus"; statusKey: string; statusText: string | undefined }
  | {
      method: "setWidget";
      widgetKey: string;
      widgetLines: readonly string[] | undefined;
      widgetPlacement?: "aboveEditor" | "belowEditor";
    }
  | { method: "setTitle"; title: string }
  | { method: "set_editor_text"; text: string };

export class RpcUi implements Dialogs {
  readonly #send: (record: unknown) => void;
  readonly #pending = new Map<string, Pending>();
  #isClosed = false;

  constructor(send: (record: unknown) => void) {
    this.#send = send;
  }

  select(extension: string | undefined, title: string, options: readonly string[], more?: DialogOptions) {
    return this.#ask<string | undefined>(
      extension,
      { method: "select", title, options },
      undefined,
      ({ value }) => (value !== undefined && options.includes(value) ? { value } : "is none of the options"),
      more,
    );
  }

  confirm(extension: string | undefined, title: string, message: string, more?: DialogOptions) {
    return this.#ask(
      extension,
      { method: "confirm", title, message },
      false,
      ({ confirmed }) => (confirmed === undefined ? "has no confirmed" : { value: confirmed }),
      more,
    );
  }

  input(extension: string | undefined, title: string, placeholder?: string, more?: DialogOptions) {
    const request: Request = {
      method: "input",
      title,
      ...(placeholder === undefined ? {} : { placeholder }),
    };
    return this.#ask<string | undefined>(extension, request, undefined, textOf, more);
  }

  editor(extension: string | undefined, title: string, text?: string, more?: DialogOptions) {
    const request: Request = { method: "editor", title, ...(text === undefined ? {} : { prefill: text }) };
    return this.#ask<string | undefined>(extension, request, undefined, textOf, more);
  }

  notify(extension: string | undefined, message: string, level: string): void {
    const notifyType =
      level === "warning" || level === "error" ? level : level === "warn" ? "warning" : "info";
    this.#show(extension, { method: "notify", message, notifyType });
  }

  setStatus(extension: string | undefined, statusKey: string, statusText: string | undefined): void {
    this.#show(extension, { method: "setStatus", statusKey, statusText });
  }

  setWidget(
    extension: string | undefined,
    widgetKey: string,
    widgetLines: readonly string[] | undefined,
    widgetPlacement?: "aboveEditor" | "belowEditor",
  ): void {
    const placement = widgetPlacement === undefined ? {} : { widgetPlacement };
    this.#show(extension, { method: "setWidget", widgetKey, widgetLines, ...placement });
  }

  setTitle(extension: string | undefined, title: string): void {
    this.#show(extension, { method: "setTitle", title });
  }

  setEditorText(extension: string | undefined, text: string): void {
    this.#show(extension, { method: "set_editor_text", text });
  }

  /** Questions of xdev itself, on permissions: what would stand on a terminal is the title, and a line is the answer. */
  lineDialog(): Dialog {
    let said = "";
    return {
      write: (text) => {
        said += text;
      },
      readLine: (signal) => {
        const title = said.trim();
        said = "";
        return this.input(undefined, title, undefined, { signal });
      },
    };
  }

  /** Takes an answer. Gives what is wrong with it: then the question still stands. Of questions that are over nothing is said. */
  answer(answer: DialogAnswer): string | undefined {
    return this.#pending.get(answer.id)?.take(answer);
  }

  /** The client is gone: every question, now and later, gets its default. */
  close(): void {
    this.#isClosed = true;
    for (const { dismiss } of [...this.#pending.values()]) dismiss();
  }

  #show(extension: string | undefined, shown: Shown): void {
    if (!this.#isClosed) this.#send(record(crypto.randomUUID(), extension, shown));
  }

  #ask<T>(
    extension: string | undefined,
    request: Request,
    none: T,
    read: (answer: DialogAnswer) => { value: T } | string,
    { timeoutMs, signal }: DialogOptions = {},
  ): Promise<T> {
    if (this.#isClosed || signal?.aborted || this.#pending.size >= PENDING_LIMIT)
      return Promise.resolve(none);
    const id = crypto.randomUUID();
    return new Promise<T>((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const end = (value: T) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", dismiss);
        this.#pending.delete(id);
        resolve(value);
      };
      const dismiss = () => end(none);
      if (timeoutMs !== undefined) timer = setTimeout(dismiss, timeoutMs);
      signal?.addEventListener("abort", dismiss, { once: true });
      this.#pending.set(id, {
        dismiss,
        take(answer) {
          const given = answer.cancelled ? { value: none } : read(answer);
          if (typeof given === "string") return `the answer to ${request.method} ${given}`;
          end(given.value);
          return undefined;
        },
      });
      const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
      this.#send(record(id, extension, { ...request, ...timeout }));
    });
  }
}

function textOf({ value }: DialogAnswer): { value: string } | string {
  return value === undefined ? "has no value" : { value };
}

function record(id: string, extension: string | undefined, members: Request | Shown): unknown {
  const from = extension === undefined ? {} : { extension };
  return { type: "extension_ui_request", id, ...members, ...from };
}
