/**
 * What went wrong with a request, in words for the user. Everything here that comes from a server is redacted, stripped of
 * control characters and cut: a server is not trusted to write on a terminal, and many echo the key they refuse.
 */
import { errorText, systemCode } from "../base/errors.ts";
import { redact } from "../base/log.ts";
import { ellipsis, stripControls } from "../base/text.ts";

/** Who is asked, as error messages name it. */
export interface Party {
  provider: string;
  baseUrl: string;
  /** Where the key comes from, as a hint reads: `providers.x.apiKey in /…/models.yml`, `OPENAI_API_KEY`. */
  credential: string;
}

/** An error whose message is already fit for the user. */
export class RequestFailure extends Error {
  override readonly name = "RequestFailure";
}

const MAX_TEXT = 500;

/** Text from outside as one harmless line of at most 500 characters. */
export function clean(text: string): string {
  return ellipsis(stripControls(redact(text)).replace(/\s+/g, " ").trim(), MAX_TEXT);
}

/** The part of an error body that people should read: the message inside JSON, or the text of a page. */
export function bodyText(body: string): string {
  const text = body.trim();
  if (/^[[{]/.test(text)) {
    try {
      return clean(jsonMessage(JSON.parse(text)) ?? text);
    } catch {
      return clean(text);
    }
  }
  if (!text.startsWith("<")) return clean(text);
  const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1]?.trim();
  const words = text.replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " ");
  return clean(title || words);
}

function jsonMessage(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return jsonMessage(value[0]);
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  const inner = fields.error ?? fields.message ?? fields.detail ?? fields.msg;
  const message = jsonMessage(inner);
  // The type is what programs decide on (`request_too_large`, `insufficient_quota`), so it stays readable.
  const kind = [fields.code, fields.type].find((one) => typeof one === "string" && one !== "error");
  return message !== undefined && kind !== undefined && !message.includes(String(kind))
    ? `${message} (${kind})`
    : message;
}

/** The error text in a server's JSON event, or undefined if it reports none. */
export function eventError(event: unknown): string | undefined {
  const error = (event as { error?: unknown } | null | undefined)?.error;
  if (!error) return undefined;
  return clean(jsonMessage(error) ?? errorText(error));
}

export interface Answer {
  status: number;
  statusText: string;
  body: string;
  location?: string | null;
  retries: number;
}

export function statusFailure(party: Party, answer: Answer): RequestFailure {
  const { status } = answer;
  const reason = clean(answer.statusText || process.getBuiltinModule("node:http").STATUS_CODES[status] || "");
  const text = bodyText(answer.body);
  const tries =
    answer.retries > 0 ? ` after ${answer.retries} ${answer.retries === 1 ? "retry" : "retries"}` : "";
  const head = `provider "${party.provider}" answered ${status}${reason && ` ${reason}`}${tries}`;
  return new RequestFailure(`${head}${text && `: ${text}`}${statusHint(party, answer)}`);
}

function statusHint(party: Party, { status, location }: Answer): string {
  if (status === 401 || status === 403) return `\nCheck the key: ${party.credential}.`;
  if (status === 404) return `\nCheck the model's id and the address: ${clean(party.baseUrl)}.`;
  if (status >= 300 && status < 400) {
    const target = location ? ` to ${clean(location)}` : "";
    return `\nIt redirects${target}, and redirects are not followed, since they would carry the key along: change baseUrl.`;
  }
  return "";
}

export function retryAfterFailure(party: Party, answer: Answer, waitMs: number): RequestFailure {
  const { message } = statusFailure(party, answer);
  return new RequestFailure(
    `${message}\nIt asks for a retry delay of ${Math.ceil(waitMs / 1000)} s: too long to wait here.`,
  );
}

const TLS = /CERT|SELF_SIGNED|EPROTO|ERR_TLS|ERR_SSL|UNABLE_TO_VERIFY|certificate|tls|ssl|corrupt message/i;
const REFUSED = /ECONNREFUSED|ConnectionRefused|connection refused/i;
const DNS = /ENOTFOUND|EAI_AGAIN|dns error|lookup address|getaddrinfo/i;
const RESET =
  /ECONNRESET|EPIPE|ConnectionClosed|socket hang up|closed|reset|other side|terminated|incomplete message/i;

export type NetworkKind = "dns" | "refused" | "tls" | "reset" | "other";

/** The chain of causes in one line: Bun has a code, Node a cause with a code, Deno a cause with a text. */
function describeCause(error: unknown): string {
  const parts: string[] = [];
  for (let current: unknown = error, depth = 0; current && depth < 4; depth++) {
    const code = systemCode(current);
    // Bun's advice is for who calls fetch.
    const text = errorText(current).replace(/ (?:For more information, pass|Is the computer able).*$/s, "");
    parts.push(code && !text.includes(code) ? `${text} (${code})` : text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(": ");
}

export function networkKind(error: unknown): NetworkKind {
  const text = describeCause(error);
  if (DNS.test(text)) return "dns";
  if (REFUSED.test(text)) return "refused";
  if (TLS.test(text)) return "tls";
  return RESET.test(text) ? "reset" : "other";
}

export function networkFailure(party: Party, error: unknown): RequestFailure {
  const address = clean(party.baseUrl);
  const who = `provider "${party.provider}"`;
  const detail = clean(describeCause(error));
  switch (networkKind(error)) {
    case "dns":
      return new RequestFailure(`${who}: the name in ${address} was not found (DNS): ${detail}`);
    case "refused":
      return new RequestFailure(`${who}: connection refused at ${address}. Is the server running?`);
    case "tls":
      return new RequestFailure(`${who}: no secure connection to ${address} (TLS): ${detail}`);
    case "reset":
      return new RequestFailure(`${who} closed the connection before it answered (${address}): ${detail}`);
    default:
      return new RequestFailure(`${who} can't be reached at ${address}: ${detail}`);
  }
}
