/**
 * The agent's package as a guest module: `xdev`, `@f5-sales-demo/xcsh`, `…/pi-coding-agent` of each scope. It is evaluated when an
 * extension imports it, so what is large belongs behind a getter or in another of the guest's texts.
 *
 * Here is what only the API's code has; the agent's helpers (guards, tool factories, components, …) are exported below it.
 */
import { agent } from "xdev:system";

export const { complete, storageFolder, ExtensionRuntimeNotInitializedError } = agent;

export default agent.pi;
