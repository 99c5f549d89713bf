/** Sessions, skills and settings of the agent's package, as far as files tell of them: a text of its own (`internal/agent-session`). */
export {
  collectEntriesForBranchSummary,
  compact,
  findCutPoint,
  findTurnStartIndex,
  generateBranchSummary,
  generateSummary,
  generateSummaryWithUsage,
  prepareBranchEntries,
  prepareCompaction,
} from "./compaction.ts";
export {
  buildContextEntries,
  buildSessionContext,
  buildSessionProjection,
  CURRENT_SESSION_VERSION,
  getLatestCompactionEntry,
  migrateSessionEntries,
  parseSessionEntries,
  sessionEntryToContextMessages,
} from "./entries.ts";
export { SessionManager } from "./manager.ts";
export { hasTrustRequiringProjectResources, loadProjectContextFiles, ProjectTrustStore } from "./project.ts";
export { DefaultResourceLoader } from "./resources.ts";
export { AuthStorage, ModelRegistry, readStoredCredential, SettingsManager } from "./settings.ts";
export { formatSkillsForPrompt, loadSkills, loadSkillsFromDir, parseSkillBlock } from "./skills.ts";
