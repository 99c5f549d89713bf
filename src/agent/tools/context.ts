import type { AgentTool } from "@earendil-works/pi-agent-core";

/** What a built-in tool gets from the session. */
export interface ToolContext {
  /** Absolute path of the folder the agent works in; relative paths in arguments are resolved against it. */
  readonly cwd: string;
  /** Whether the folders above `cwd` are none of its business: an extension's tool would ask for each of them. */
  readonly isConfined?: boolean;
  /** A folder for this run's overflow output; made on first use, removed when the run ends. */
  scratch(): Promise<string>;
  /** The environment of the programs that `bash` starts. */
  readonly env: Record<string, string>;
}

/** A built-in tool. Its file exports one `(context: ToolContext) => BuiltinTool`. */
export type BuiltinTool = AgentTool<object, unknown>;
