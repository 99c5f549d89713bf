/** A model as extensions get it: plain data, without what only the host may know. */
import type { Api, Model } from "@earendil-works/pi-ai";

/** Members are named, so that what is added to a model some day stays here until somebody has looked at it. */
const MEMBERS = [
  "id",
  "name",
  "api",
  "provider",
  "reasoning",
  "thinkingLevelMap",
  "input",
  "cost",
  "contextWindow",
  "maxTokens",
] as const;

/** No key, no header, and an address without credentials and query. */
export function publicModel(model: Model<Api>): Record<string, unknown> {
  const known: Record<string, unknown> = { type: "chat" };
  for (const member of MEMBERS) {
    const value = (model as unknown as Record<string, unknown>)[member];
    if (value !== undefined) known[member] = value;
  }
  return { ...known, baseUrl: plainAddress(model.baseUrl) };
}

function plainAddress(address: string): string {
  try {
    const { origin, pathname } = new URL(address);
    return origin === "null" ? "" : origin + (pathname === "/" ? "" : pathname);
  } catch {
    return "";
  }
}
