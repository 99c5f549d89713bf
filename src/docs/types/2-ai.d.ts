declare module "xdev:ai" {
  export interface TextContent {
    type: "text";
    text: string;
  }

  export interface ImageContent {
    type: "image";
    /** Base64. */
    data: string;
    mimeType: string;
  }

  export interface ThinkingContent {
    type: "thinking";
    thinking: string;
  }

  export interface ToolCall {
    type: "toolCall";
    id: string;
    name: string;
    arguments: Record<string, any>;
  }

  export interface Usage {
    /** All in tokens. */
    input: number;
    output: number;
    cacheRead: number;
    cacheWrite: number;
    totalTokens: number;
    /** In US dollars. */
    cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
  }

  export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | (string & {});

  export interface SystemMessage {
    role: "system";
    content: string | TextContent[];
    /** In ms since 1970, like that of all messages. */
    timestamp: number;
  }

  export interface UserMessage {
    role: "user";
    content: string | (TextContent | ImageContent)[];
    timestamp: number;
  }

  export interface AssistantMessage {
    role: "assistant";
    content: (TextContent | ThinkingContent | ToolCall)[];
    api: string;
    provider: string;
    model: string;
    usage: Usage;
    stopReason: StopReason;
    errorMessage?: string;
    timestamp: number;
  }

  export interface ToolResultMessage<TDetails = any> {
    role: "toolResult";
    toolCallId: string;
    toolName: string;
    content: (TextContent | ImageContent)[];
    details?: TDetails;
    isError: boolean;
    timestamp: number;
  }

  export type Message = UserMessage | AssistantMessage | ToolResultMessage;
  export type Api = string;
  export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

  export interface Model<TApi extends Api = Api> {
    id: string;
    name: string;
    api: TApi;
    provider: string;
    baseUrl: string;
    reasoning: boolean;
    input: ("text" | "image")[];
    /** In US dollars for a million tokens. */
    cost: { input: number; output: number; cacheRead: number; cacheWrite: number };
    /** In tokens. */
    contextWindow: number;
    maxTokens: number;
    headers?: Record<string, string>;
    [more: string]: any;
  }

  export interface Tool {
    name: string;
    description: string;
    parameters: any;
  }

  export interface Context {
    systemPrompt?: string;
    messages: (Message | SystemMessage)[];
    tools?: Tool[];
  }

  export interface StreamOptions {
    temperature?: number;
    maxTokens?: number;
    signal?: AbortSignal;
    apiKey?: string;
    headers?: Record<string, string>;
    [more: string]: any;
  }

  export interface SimpleStreamOptions extends StreamOptions {
    reasoning?: Exclude<ThinkingLevel, "off">;
  }

  export type AssistantMessageEvent =
    | { type: "start"; partial: AssistantMessage }
    | { type: "text_start" | "thinking_start" | "toolcall_start"; contentIndex: number; partial: AssistantMessage }
    | {
        type: "text_delta" | "thinking_delta" | "toolcall_delta";
        contentIndex: number;
        delta: string;
        partial: AssistantMessage;
      }
    | { type: "text_end" | "thinking_end"; contentIndex: number; content: string; partial: AssistantMessage }
    | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
    | { type: "done"; reason: StopReason; message: AssistantMessage }
    | { type: "error"; reason: StopReason; error: AssistantMessage };

  /** What a model says, part by part. Whoever makes one pushes events and ends it. */
  export class AssistantMessageEventStream implements AsyncIterable<AssistantMessageEvent> {
    push(event: AssistantMessageEvent): void;
    end(result?: AssistantMessage): void;
    result(): Promise<AssistantMessage>;
    [Symbol.asyncIterator](): AsyncIterator<AssistantMessageEvent>;
  }

  export function createAssistantMessageEventStream(): AssistantMessageEventStream;

  /** Asks a model once. Needs the permission `model`; the key stays with xdev. */
  export function complete(model: Model<any>, context: Context, options?: StreamOptions): Promise<AssistantMessage>;
  export function completeSimple(
    model: Model<any>,
    context: Context,
    options?: SimpleStreamOptions,
  ): Promise<AssistantMessage>;
  export function stream(model: Model<any>, context: Context, options?: StreamOptions): AssistantMessageEventStream;
  export function streamSimple(
    model: Model<any>,
    context: Context,
    options?: SimpleStreamOptions,
  ): AssistantMessageEventStream;
  export function getModel(provider: string, id: string): Model;
  export function getModels(provider: string): Model[];
  export function getProviders(): string[];
  export function calculateCost(model: Model<any>, usage: Usage): Usage["cost"];

  /** A new id; those that are made later sort behind. */
  export function uuidv7(): string;

  export interface OAuthCredentials {
    refresh: string;
    access: string;
    /** In ms since 1970. */
    expires: number;
    [more: string]: any;
  }

  export interface OAuthLoginCallbacks {
    onAuth(info: { url: string; instructions?: string }): void;
    onPrompt(prompt: { message: string; placeholder?: string; allowEmpty?: boolean }): Promise<string>;
    onProgress?(message: string): void;
    onDeviceCode?(info: { userCode: string; verificationUri: string }): void;
    onSelect?(question: { message: string; options: { id: string; label: string }[] }): Promise<string>;
    onManualCodeInput?(): Promise<string>;
    signal?: AbortSignal;
    [more: string]: any;
  }
}
