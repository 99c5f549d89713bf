/** What an extension may know of a model: everything but what opens it. */
import type { Api, Model } from "@earendil-works/pi-ai";
import { redact } from "../base/log.ts";

/** Without headers, which may hold a key, and with no more of its address than where it is. Plain data. */
export function guestModel({ headers: _, ...model }: Model<Api>): Omit<Model<Api>, "headers"> {
  return { ...model, baseUrl: redact(publicUrl(model.baseUrl)) };
}

/** Without a user's name, a password and a query. */
function publicUrl(text: string): string {
  try {
    const url = new URL(text);
    if (url.username === "" && url.password === "" && url.search === "") return text;
    url.username = "";
    url.password = "";
    url.search = "";
    return url.href;
  } catch {
    return "";
  }
}
