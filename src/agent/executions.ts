/** What the user ran himself (`!command`, `$code`), as messages of the conversation. */

export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  /** Undefined if it was ended by the user. */
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
  /** Milliseconds. */
  timestamp: number;
  /** `!!`: the model is not told. */
  excludeFromContext?: boolean;
}

export interface PythonExecutionMessage {
  role: "pythonExecution";
  code: string;
  output: string;
  /** 0, or 1 if it ended with an exception; undefined if it was ended by the user or the process died. */
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  fullOutputPath?: string;
  timestamp: number;
  /** `$$`. */
  excludeFromContext?: boolean;
}

declare module "@earendil-works/pi-agent-core" {
  interface CustomAgentMessages {
    bashExecution: BashExecutionMessage;
    pythonExecution: PythonExecutionMessage;
  }
}

/** The text of a user message for the model: what was run, what came out, how it ended. */
export function executionText(message: BashExecutionMessage | PythonExecutionMessage): string {
  const isShell = message.role === "bashExecution";
  const { output, exitCode } = message;
  const parts = [isShell ? ran(message.command) : `Ran in Python:\n\n${fenced(message.code, "python")}`];
  parts.push(output === "" ? "(no output)" : fenced(output));
  if (message.cancelled) parts.push("(cancelled)");
  else if (exitCode === undefined) parts.push("(the process ended)");
  else if (exitCode !== 0)
    parts.push(isShell ? `Command exited with code ${exitCode}` : "(it ended with an error)");
  if (message.truncated) {
    const where = message.fullOutputPath === undefined ? "" : ` Full output: ${message.fullOutputPath}`;
    parts.push(`[Output truncated.${where}]`);
  }
  return parts.join("\n\n");
}

function ran(command: string): string {
  return /[`\n]/.test(command) ? `Ran:\n\n${fenced(command, "sh")}` : `Ran \`${command}\``;
}

/** A block that what is in it can't end. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}
