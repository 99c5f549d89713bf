import type { ExtensionAPI } from "xdev";

const FLAVOURS = ["plain", "lemon", "chocolate"];

export default function (pi: ExtensionAPI) {
  // The user writes /cake lemon.
  pi.registerCommand("cake", {
    description: "bakes a cake",
    getArgumentCompletions: (prefix) =>
      FLAVOURS.filter((one) => one.startsWith(prefix)).map((value) => ({ value, label: value })),
    handler: async (args, ctx) => {
      // Where nobody can be asked, the answer is undefined, or false.
      const flavour = args || (await ctx.ui.select("Which flavour?", FLAVOURS));
      if (flavour === undefined) return "no cake";
      const name = await ctx.ui.input("For whom?", "a name");
      if (!(await ctx.ui.confirm("Bake it?", `${flavour}, for ${name ?? "everybody"}`, { timeout: 60_000 }))) return;
      ctx.ui.notify(`a ${flavour} cake`, "info");
      return `baked for ${name ?? "everybody"}`;
    },
  });

  // Handlers of commands, and no others, go to another session, or elsewhere in this one.
  pi.registerCommand("afresh", {
    description: "begins a new session with what the last answer said",
    handler: async (_args, ctx) => {
      await ctx.waitForIdle();
      const last = ctx.sessionManager.getBranch().findLast((entry) => entry.type === "message");
      const { cancelled } = await ctx.newSession();
      if (cancelled || last?.type !== "message" || last.message.role !== "assistant") return;
      const text = last.message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      pi.sendUserMessage(`Go on from here: ${text}`);
    },
  });
}
