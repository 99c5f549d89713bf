/** What of an extension's credentials is a secret: it is hidden wherever texts are printed or kept. */
import { addSecretOf } from "../base/log.ts";

const SECRET_MEMBER = /access|refresh|token|secret|key|password|code|credential|cookie|session/i;
/** So many texts of one are looked at. */
const MOST = 40;

/** `value` is an extension's: credentials, or a key that it made of them. `owner` stands for the extension. */
export function hideCredentials(owner: string, value: unknown): void {
  if (typeof value === "string") return addSecretOf(owner, value);
  const texts: string[] = [];
  const find = (part: object): void => {
    for (const [member, one] of Object.entries(part)) {
      if (texts.length >= MOST) return;
      if (typeof one === "string" && SECRET_MEMBER.test(member)) texts.push(one);
      else if (typeof one === "object" && one !== null) find(one);
    }
  };
  if (typeof value !== "object" || value === null) return;
  find(value);
  const { access, refresh } = value as { access?: unknown; refresh?: unknown };
  // The latest are those that stay hidden.
  for (const text of [...texts, refresh, access]) if (typeof text === "string") addSecretOf(owner, text);
}
