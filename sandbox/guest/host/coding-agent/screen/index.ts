/** Components of the agent's package that need pi-tui: a text of its own (`internal/agent-screen`). */
export {
  AssistantMessageComponent,
  BashExecutionComponent,
  BranchSummaryMessageComponent,
  CompactionSummaryMessageComponent,
  CustomMessageComponent,
  SkillInvocationMessageComponent,
  ToolExecutionComponent,
  truncateToVisualLines,
  UserMessageComponent,
} from "./messages.ts";
export {
  BorderedLoader,
  ExtensionSelectorComponent,
  ExtensionSelectorComponent as HookSelectorComponent,
  ShowImagesSelectorComponent,
  ThemeSelectorComponent,
  ThinkingSelectorComponent,
  UserMessageSelectorComponent,
} from "./selectors.ts";
