import type { ExtensionAPI, ExtensionContext } from "xdev";

/** A list that belongs to the session: another branch, or another session, has another one. */
export default function (pi: ExtensionAPI) {
  let items: string[] = [];

  // Entries are kept in the session and never sent to the model. Each holds the whole state: the last one on the branch is what is so.
  const restore = (_event: unknown, ctx: ExtensionContext) => {
    items = [];
    for (const entry of ctx.sessionManager.getBranch()) {
      if (entry.type === "custom" && entry.customType === "shopping") items = (entry.data as { items: string[] }).items;
    }
    ctx.ui.setStatus("shopping", `${items.length} to buy`);
  };
  for (const event of ["session_start", "session_switch", "session_branch", "session_tree"] as const) pi.on(event, restore);

  pi.registerCommand("buy", {
    description: "puts something on the list",
    handler: async (args, ctx) => {
      items = [...items, args];
      pi.appendEntry("shopping", { items });
      ctx.ui.setStatus("shopping", `${items.length} to buy`);
      return items.join(", ");
    },
  });
}
