import { complete, type ExtensionAPI } from "xdev";

/** Asks the session's model, with the permission `model`. The key stays with xdev. */
export default function (pi: ExtensionAPI) {
  pi.registerCommand("title", {
    description: "names the session after what was said",
    handler: async (_args, ctx) => {
      const said = ctx.sessionManager.getBranch().flatMap((entry) => {
        if (entry.type !== "message" || entry.message.role !== "user") return [];
        return [typeof entry.message.content === "string" ? entry.message.content : JSON.stringify(entry.message.content)];
      });
      const title = await complete(`Give this a title of three words:\n${said.join("\n")}`, { maxTokens: 50 });
      pi.setSessionName(title);
      return title;
    },
  });
}
