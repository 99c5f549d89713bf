/** What the model is told of `bash`. */
export const DEFAULT_SECONDS = 120;

export interface BashParams {
  command: string;
  timeout?: number;
}

export const BASH = {
  name: "bash",
  description: "Run a shell command. Background processes are killed when it ends.",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string" },
      timeout: { type: "number", description: `Seconds, default ${DEFAULT_SECONDS}` },
    },
    required: ["command"],
  },
};
