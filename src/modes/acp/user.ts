/**
 * The user of acp mode: whoever sits at the editor. Permissions of extensions are asked for as the protocol's permission requests;
 * what extensions ask by themselves goes out as elicitation, where the editor has that. No answer is a no.
 */
import type {
  AgentContext,
  ClientCapabilities,
  CreateElicitationRequest,
  PermissionOption,
} from "@agentclientprotocol/sdk";
import { type Answer, oneAtATime, type User } from "../../../sandbox/permissions/asker.ts";
import { redact } from "../../base/log.ts";
import type { DialogOptions, Dialogs } from "../../extensions/calls.ts";
import { redactDeep, textBlock } from "./updates.ts";

export interface Asking {
  client: AgentContext;
  capabilities: ClientCapabilities;
  /** The session's id, as the editor knows it by now. */
  sessionId(): Promise<string>;
  /** Aborts when the session ends: nobody waits for an answer any more. */
  closing: AbortSignal;
  /** Aborts when what goes on is cancelled. */
  cancelled(): AbortSignal;
}

/** So many forms may stand at a time; a further one gets its default. */
const PENDING_LIMIT = 100;

const NOT_NOW: PermissionOption = { optionId: "deny", name: "Deny for now", kind: "reject_once" };

/** Whom permissions are asked of. */
export async function acpUser(asking: Asking): Promise<User> {
  const [{ LIMITS, limited, useQuestionLines }, { loadQuestionLines }, { NONE }] = await Promise.all([
    import("../../../sandbox/permissions/prompt.ts"),
    import("../../../sandbox/permissions/describe.ts"),
    import("../../../sandbox/permissions/permissions.ts"),
  ]);
  return oneAtATime({
    async ask(question) {
      const always: PermissionOption[] = question.lasting
        ? [{ optionId: "always", name: "Always", kind: "allow_always" }]
        : [];
      const options: PermissionOption[] = [
        { optionId: "once", name: "Once", kind: "allow_once" },
        { optionId: "session", name: "For this session", kind: "allow_always" },
        ...always,
        NOT_NOW,
        { optionId: "never", name: "Never", kind: "reject_always" },
      ];
      const signal = limited(question.signal, LIMITS.useMs);
      return ((await choose(asking, useQuestionLines(question), options, signal)) ?? "deny") as Answer;
    },
    async askAtLoad(question) {
      const options: PermissionOption[] = [
        { optionId: "session", name: "Allow for this session", kind: "allow_always" },
        { optionId: "allow", name: "Allow", kind: "allow_always" },
        NOT_NOW,
        { optionId: "never", name: "Deny, and do not ask again", kind: "reject_always" },
      ];
      const signal = limited(question.signal, LIMITS.loadMs);
      const choice = await choose(asking, loadQuestionLines(question), options, signal);
      if (choice === "allow") return { granted: question.toAsk, lasts: "always" };
      if (choice === "session") return { granted: question.toAsk, lasts: "session" };
      return choice === "never" ? { granted: NONE, lasts: "always" } : undefined;
    },
  });
}

let questions = 0;

/** The id of the option that was chosen; undefined for none, for one that was not offered, and for an editor that is gone. */
async function choose(
  { client, sessionId, closing }: Asking,
  lines: readonly string[],
  options: readonly PermissionOption[],
  given: AbortSignal,
): Promise<string | undefined> {
  const signal = AbortSignal.any([given, closing]);
  try {
    const { outcome } = await client.request(
      "session/request_permission",
      {
        sessionId: await sessionId(),
        toolCall: {
          toolCallId: `permission-${++questions}`,
          title: redact(lines[0] ?? ""),
          kind: "other",
          status: "pending",
          content: [{ type: "content", content: textBlock(lines.join("\n")) }],
        },
        options: [...options],
      },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    if (outcome.outcome !== "selected" || signal.aborted) return undefined;
    return options.find(({ optionId }) => optionId === outcome.optionId)?.optionId;
  } catch {
    return undefined;
  }
}

/** What extensions ask. An editor without forms gives every question its default. */
export function acpDialogs(asking: Asking): Dialogs {
  let pending = 0;
  const ask = async (
    extension: string,
    title: string,
    value: object,
    { signal, timeoutMs }: DialogOptions = {},
  ): Promise<unknown> => {
    if (!asking.capabilities.elicitation?.form || pending >= PENDING_LIMIT) return undefined;
    const ends = [
      asking.closing,
      asking.cancelled(),
      ...(signal ? [signal] : []),
      ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)]),
    ];
    pending++;
    try {
      const request = redactDeep({
        mode: "form",
        sessionId: await asking.sessionId(),
        message: `${extension}: ${title}`,
        requestedSchema: { type: "object", properties: { value }, required: ["value"] },
      }) as CreateElicitationRequest;
      const answer = (await asking.client.request("elicitation/create", request, {
        cancellationSignal: AbortSignal.any(ends),
        stopWaitingOnCancel: true,
      })) as { action?: unknown; content?: { value?: unknown } | null };
      return answer.action === "accept" ? answer.content?.value : undefined;
    } catch {
      return undefined;
    } finally {
      pending--;
    }
  };
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const askText = async (
    extension: string,
    title: string,
    given: { description?: string; default?: string },
    more: DialogOptions | undefined,
  ) => text(await ask(extension, title, { type: "string", title, ...given }, more));
  return {
    select: async (extension, title, options, more) => {
      const chosen = text(await ask(extension, title, { type: "string", title, enum: options }, more));
      return chosen !== undefined && options.includes(chosen) ? chosen : undefined;
    },
    confirm: async (extension, title, message, more) =>
      (await ask(extension, title, { type: "boolean", title: message || title }, more)) === true,
    input: (extension, title, placeholder, more) =>
      askText(extension, title, placeholder === undefined ? {} : { description: placeholder }, more),
    editor: (extension, title, given, more) =>
      askText(extension, title, given === undefined ? {} : { default: given }, more),
  };
}
