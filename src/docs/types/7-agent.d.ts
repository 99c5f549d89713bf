declare module "xdev:agent" {
  import type { Message } from "xdev:ai";
  import {
    type Component,
    Container,
    Editor,
    type EditorTheme,
    type KeybindingsManager,
    type MarkdownTheme,
    type SelectListTheme,
    type SettingsListTheme,
    type TUI,
  } from "xdev:tui";

  export class ExtensionRuntimeNotInitializedError extends Error {}

  /** Asks the session's model once, and gives its text. Needs the permission `model`. */
  export function complete(prompt: string, options?: { systemPrompt?: string; maxTokens?: number }): Promise<string>;
  /** The extension's own folder, where it may read and write without a permission. */
  export const storageFolder: string;

  export function defineTool<const TParams, TDetails = any>(
    tool: ToolDefinition<TParams, TDetails>,
  ): ToolDefinition<TParams, TDetails>;

  export function isToolCallEventType(toolName: "bash", event: ToolCallEvent): event is BashToolCallEvent;
  export function isToolCallEventType(toolName: "read", event: ToolCallEvent): event is ReadToolCallEvent;
  export function isToolCallEventType(toolName: "write", event: ToolCallEvent): event is WriteToolCallEvent;
  export function isToolCallEventType(toolName: "edit", event: ToolCallEvent): event is EditToolCallEvent;
  export function isToolCallEventType(toolName: "grep", event: ToolCallEvent): event is GrepToolCallEvent;
  export function isToolCallEventType(toolName: "find", event: ToolCallEvent): event is FindToolCallEvent;
  export function isToolCallEventType(toolName: "ls", event: ToolCallEvent): event is LsToolCallEvent;
  export function isToolCallEventType<TName extends string, TInput extends Record<string, any>>(
    toolName: TName,
    event: ToolCallEvent,
  ): event is ToolCallEvent & { toolName: TName; input: TInput };
  export function isBashToolResult(event: ToolResultEvent): event is BashToolResultEvent;
  export function isReadToolResult(event: ToolResultEvent): event is ReadToolResultEvent;
  export function isWriteToolResult(event: ToolResultEvent): event is WriteToolResultEvent;
  export function isEditToolResult(event: ToolResultEvent): event is EditToolResultEvent;
  export function isGrepToolResult(event: ToolResultEvent): event is GrepToolResultEvent;
  export function isFindToolResult(event: ToolResultEvent): event is FindToolResultEvent;
  export function isLsToolResult(event: ToolResultEvent): event is LsToolResultEvent;

  /** How a tool does its work: another way to do it makes it work elsewhere, over ssh for one. */
  export interface BashOperations {
    exec(
      command: string,
      cwd: string,
      options: {
        onData: (data: Buffer) => void;
        signal?: AbortSignal;
        timeout?: number;
        env?: Record<string, string | undefined>;
      },
    ): Promise<{ exitCode: number | null }>;
  }
  export interface ReadOperations {
    readFile(path: string): Promise<Buffer>;
    access(path: string): Promise<void>;
    detectImageMimeType?(path: string): Promise<string | null | undefined>;
  }
  export interface WriteOperations {
    writeFile(path: string, content: string): Promise<void>;
    mkdir(folder: string): Promise<void>;
  }
  export interface EditOperations {
    readFile(path: string): Promise<Buffer>;
    writeFile(path: string, content: string): Promise<void>;
    access(path: string): Promise<void>;
  }
  export interface BashSpawnContext {
    command: string;
    cwd: string;
    env: Record<string, string | undefined>;
  }
  export interface BashToolOptions {
    operations?: BashOperations;
    commandPrefix?: string;
    spawnHook?: (context: BashSpawnContext) => BashSpawnContext;
    [more: string]: any;
  }
  export interface BashToolDetails {
    truncation?: TruncationResult;
    fullOutputPath?: string;
    [more: string]: any;
  }
  export interface ReadToolDetails {
    truncation?: TruncationResult;
    [more: string]: any;
  }
  export interface EditToolDetails {
    diff: string;
    [more: string]: any;
  }
  export function createBashTool(cwd: string, options?: BashToolOptions): any;
  export function createBashToolDefinition(cwd: string, options?: BashToolOptions): any;
  export function createReadTool(cwd: string, options?: { operations?: ReadOperations; [more: string]: any }): any;
  export function createReadToolDefinition(cwd: string, options?: { operations?: ReadOperations; [more: string]: any }): any;
  export function createWriteTool(cwd: string, options?: { operations?: WriteOperations; [more: string]: any }): any;
  export function createWriteToolDefinition(cwd: string, options?: { operations?: WriteOperations; [more: string]: any }): any;
  export function createEditTool(cwd: string, options?: { operations?: EditOperations; [more: string]: any }): any;
  export function createEditToolDefinition(cwd: string, options?: { operations?: EditOperations; [more: string]: any }): any;
  export function createGrepTool(cwd: string, options?: Record<string, any>): any;
  export function createGrepToolDefinition(cwd: string, options?: Record<string, any>): any;
  export function createFindTool(cwd: string, options?: Record<string, any>): any;
  export function createFindToolDefinition(cwd: string, options?: Record<string, any>): any;
  export function createLsTool(cwd: string, options?: Record<string, any>): any;
  export function createLsToolDefinition(cwd: string, options?: Record<string, any>): any;
  export function createLocalBashOperations(options?: Record<string, any>): BashOperations;
  export function formatReadLineRange(args: any, theme: Theme): string;

  export interface TruncationOptions { maxLines?: number; maxBytes?: number }
  export interface TruncationResult {
    content: string;
    truncated: boolean;
    truncatedBy: "lines" | "bytes" | null;
    totalLines: number;
    totalBytes: number;
    outputLines: number;
    outputBytes: number;
    [more: string]: any;
  }
  export function truncateHead(text: string, options?: TruncationOptions): TruncationResult;
  export function truncateTail(text: string, options?: TruncationOptions): TruncationResult;
  export function truncateLine(line: string, maxChars?: number): { text: string; wasTruncated: boolean };
  export function formatSize(bytes: number): string;
  export const DEFAULT_MAX_LINES: number;
  export const DEFAULT_MAX_BYTES: number;

  export function parseFrontmatter<T extends Record<string, any> = Record<string, any>>(
    text: string,
  ): { frontmatter: T; body: string };
  export function stripFrontmatter(text: string): string;
  export function convertToLlm(messages: AgentMessage[]): Message[];
  export function serializeConversation(messages: Message[]): string;
  export function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T>;
  export function getAgentDir(): string;
  export const CONFIG_DIR_NAME: string;
  export const VERSION: string;

  export function getMarkdownTheme(): MarkdownTheme;
  export function getSelectListTheme(): SelectListTheme;
  export function getSettingsListTheme(): SettingsListTheme;
  export function keyHint(keybinding: string, description: string): string;
  export class DynamicBorder implements Component {
    constructor(color?: (text: string) => string);
    render(width: number): readonly string[];
    invalidate(): void;
  }
  export class BorderedLoader extends Container {
    constructor(tui: TUI, theme: Theme, message: string, options?: { cancellable?: boolean });
    readonly signal: AbortSignal;
    onAbort?: () => void;
    handleInput(data: string): void;
    dispose(): void;
  }
  export class CustomEditor extends Editor {
    constructor(tui: TUI, theme: EditorTheme, keybindings: KeybindingsManager, options?: Record<string, any>);
  }
}
