/** What a session is made of: everything that it talks to, so that tests and modes can choose each. */
import type { ThinkingLevel } from "@earendil-works/pi-agent-core";
import type { ExtensionManager } from "../../extensions/manager.ts";
import type { HooksBus } from "../../hooks/bus.ts";
import type { ModelCatalog } from "../../models/catalog.ts";
import type { ResolvedModel } from "../../models/index.ts";
import type { SessionStore } from "../../session/store.ts";
import type { SessionSettings } from "../agent-session-types.ts";
import type { MessageQueue } from "../message-queue.ts";
import type { ResourcePlaces } from "../resources.ts";
import type { ToolSet } from "../tool-set.ts";
import type { TodoList } from "../tools/todo.ts";

/** Settings of which some are given. */
export type PartialSettings = {
  [K in keyof SessionSettings]?: SessionSettings[K] extends object
    ? Partial<SessionSettings[K]>
    : SessionSettings[K];
};

export interface AgentSessionOptions {
  dataDir: string;
  /** Absolute. Tools and commands work here, whichever session is open. */
  cwd: string;
  /** New, or opened to go on with. The session closes it. */
  store: SessionStore;
  /** What is talked to; without it `prompt` rejects with `no-model`, until `setModel`. */
  model?: ResolvedModel | undefined;
  /** Whether the user named the model. Otherwise a session that goes on keeps the model that it had, if it can be had. */
  isModelChosen?: boolean;
  /** The user's choice; otherwise the level that the session had, or "off". */
  thinkingLevel?: ThinkingLevel | undefined;
  /** For other models than `model`; without it there are none. */
  models?: ModelCatalog | undefined;
  /** Told which model the session has, now and whenever it changes. */
  onModel?: (model: ResolvedModel | undefined) => void;
  /** What `cycleModel` goes through; all available models without it. */
  scopedModels?: readonly { provider: string; modelId: string; thinkingLevel?: ThinkingLevel }[];
  tools: ToolSet;
  /** Without skills and hooks, which are the session's. */
  systemPrompt: string;
  manager?: ExtensionManager | undefined;
  hooks?: HooksBus | undefined;
  /** What extensions queue by actions (`steer`, `followUp`, `aside`); the session connects itself to it. */
  queue?: MessageQueue | undefined;
  /** Where skills, templates and stream rules come from; without it there are none. */
  places?: ResourcePlaces | undefined;
  /** In the place of `places` from the first reload on: there may be some then. */
  placesAtReload?: ResourcePlaces | undefined;
  /** The list behind the `todo` tool, if there is one among the tools. */
  todos?: TodoList | undefined;
  /** The environment of the user's commands, and a folder for their long outputs. */
  env?: Record<string, string>;
  scratch?: () => Promise<string>;
  settings?: PartialSettings;
  /** A run ends after so many turns. */
  maxTurns?: number | undefined;
}
