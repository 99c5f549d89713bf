/**
 * The agent's package as a guest module: `xdev`, `@f5-sales-demo/xcsh`, `…/pi-coding-agent` of each scope. It is evaluated when an
 * extension imports it, so what is large is in texts of their own, each evaluated when something of it is first used.
 */
import { agent, own } from "xdev:system";
import { SESSION_VERSION } from "../../../../src/session/types.ts";
import { withParts } from "../../in-parts.ts";
import * as config from "./config.ts";
import * as conversation from "./conversation.ts";
import * as eventBus from "./event_bus.ts";
import * as frontMatter from "./front_matter.ts";
import * as guards from "./guards.ts";
import * as images from "./images.ts";
import { CredentialSynchronizationError, copyToClipboard, refusedExports } from "./refused.ts";
import { createSyntheticSourceInfo } from "./source_info.ts";
import { standIns } from "./stand_in.ts";
import * as tokens from "./tokens.ts";
import { formatReadLineRange } from "./tools/draw.ts";
import * as truncate from "./truncate.ts";

const { complete, storageFolder, ExtensionRuntimeNotInitializedError, pi } = agent;

const early = {
  ...refusedExports(),
  ...config,
  ...conversation,
  ...eventBus,
  ...frontMatter,
  ...guards,
  ...images,
  ...tokens,
  ...truncate,
  CredentialSynchronizationError,
  copyToClipboard,
  createSyntheticSourceInfo,
  formatReadLineRange,
  CURRENT_SESSION_VERSION: SESSION_VERSION,
  VIRTUAL_MODEL_STATE_ENTRY: "virtual-model-state",
  // What only the API's code has.
  complete,
  storageFolder,
  ExtensionRuntimeNotInitializedError,
  default: pi,
};

const words = (text: string): string[] => text.trim().split(/\s+/);

const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  "internal/agent-tools": words(`
    createBashTool createBashToolDefinition createCodingTools createEditTool createEditToolDefinition
    createFindTool createFindToolDefinition createGrepTool createGrepToolDefinition createLsTool
    createLsToolDefinition createReadOnlyTools createReadTool createReadToolDefinition createWriteTool createWriteToolDefinition
    generateDiffString generateUnifiedPatch`),
  "internal/agent-tools-run": words(
    "createLocalBashOperations detectSupportedImageMimeTypeFromFile withFileMutationQueue",
  ),
  "internal/agent-theme": words(`
    DynamicBorder Theme getEditorTheme getLanguageFromPath getMarkdownTheme getSelectListTheme getSettingsListTheme highlightCode
    appKeyHint initTheme keyHint keyText rawKeyHint renderDiff`),
  "internal/agent-screen": words(`
    AssistantMessageComponent BashExecutionComponent BorderedLoader BranchSummaryMessageComponent CompactionSummaryMessageComponent
    CustomMessageComponent ExtensionSelectorComponent HookSelectorComponent ShowImagesSelectorComponent
    SkillInvocationMessageComponent ThemeSelectorComponent ThinkingSelectorComponent ToolExecutionComponent UserMessageComponent
    UserMessageSelectorComponent truncateToVisualLines`),
  "internal/agent-editor": words(`
    CustomEditor ExtensionEditorComponent ExtensionInputComponent HookEditorComponent HookInputComponent`),
  "internal/agent-session": words(`
    AuthStorage DefaultResourceLoader ModelRegistry ProjectTrustStore SessionManager SettingsManager
    buildContextEntries buildSessionContext buildSessionProjection collectEntriesForBranchSummary compact findCutPoint
    findTurnStartIndex formatSkillsForPrompt generateBranchSummary generateSummary generateSummaryWithUsage
    getLatestCompactionEntry hasTrustRequiringProjectResources loadProjectContextFiles loadSkills loadSkillsFromDir
    migrateSessionEntries parseSessionEntries parseSkillBlock prepareBranchEntries prepareCompaction readStoredCredential
    sessionEntryToContextMessages`),
};

const VALUES: Readonly<Record<string, readonly string[]>> = {
  "internal/agent-tools": words(
    "bashTool codingTools editTool findTool grepTool lsTool readOnlyTools readTool writeTool",
  ),
  "internal/agent-theme": ["theme"],
  // What oh-my-pi's package gives besides.
  "pi-tui": ["Container", "Markdown", "Spacer", "Text"],
};

export const all: Record<string, unknown> = withParts(early, [
  ...Object.entries(FUNCTIONS).map(([part, names]) => {
    const made = standIns(part, names);
    return { names, load: () => made };
  }),
  ...Object.entries(VALUES).map(([part, names]) => ({ names, load: () => own(part) })),
  { names: ["logger"], load: () => pi as Record<string, unknown> },
  { names: ["z"], load: () => own("zod") },
  { names: ["zod"], load: () => ({ zod: own("zod") }) },
]);
