/** Which tool an event is about, and what gives a definition its type: for TypeScript more than for what runs. */

interface ToolEvent {
  toolName?: unknown;
}

export const isToolCallEventType = (toolName: string, event: ToolEvent): boolean =>
  event?.toolName === toolName;

const resultOf = (toolName: string) => (event: ToolEvent) => event?.toolName === toolName;

export const isBashToolResult = resultOf("bash");
export const isPowerShellToolResult = resultOf("powershell");
export const isReadToolResult = resultOf("read");
export const isEditToolResult = resultOf("edit");
export const isWriteToolResult = resultOf("write");
export const isGrepToolResult = resultOf("grep");
export const isFindToolResult = resultOf("find");
export const isLsToolResult = resultOf("ls");

/** Gives a tool's definition as it is. */
export const defineTool = <T>(tool: T): T => tool;
