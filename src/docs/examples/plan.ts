import type { ExtensionAPI, ExtensionContext } from "xdev";

const READING = ["read", "grep", "find", "ls"];

/** A mode in which the model may only read: `xdev --plan`, or a key while the session goes on. */
export default function (pi: ExtensionAPI) {
  pi.registerFlag("plan", { type: "boolean", description: "begin with reading alone", default: false });
  let before: string[] | undefined;

  const setPlan = (on: boolean, ctx: ExtensionContext) => {
    if (on && before === undefined) {
      before = pi.getActiveTools();
      pi.setActiveTools(before.filter((name) => READING.includes(name)));
    } else if (!on && before !== undefined) {
      pi.setActiveTools(before);
      before = undefined;
    }
    ctx.ui.setStatus("plan", on ? "plan mode" : undefined);
  };

  pi.on("session_start", (_event, ctx) => setPlan(pi.getFlag("plan") === true, ctx));
  pi.registerShortcut("ctrl+shift+x", {
    description: "plan mode on and off",
    handler: (ctx) => setPlan(before === undefined, ctx),
  });
}
