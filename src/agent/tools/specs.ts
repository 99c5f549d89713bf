/** What the model is told of the built-in tools, and what becomes of arguments that it writes otherwise. */

export const BASH_SECONDS = 120;
export const GREP_MATCHES = 100;

export const READ = {
  name: "read",
  description: "Read an image or text, with line numbers.",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      offset: { type: "integer", description: "First line, from 1" },
      limit: { type: "integer", description: "Lines" },
    },
    required: ["path"],
  },
};

export const WRITE = {
  name: "write",
  description: "Create or replace a file.",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, content: { type: "string" } },
    required: ["path", "content"],
  },
};

export const EDIT = {
  name: "edit",
  description: "Replace exact text in a file. Each oldText must occur once; edits must not overlap.",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string" },
      edits: {
        type: "array",
        items: {
          type: "object",
          properties: { oldText: { type: "string" }, newText: { type: "string" } },
          required: ["oldText", "newText"],
        },
      },
    },
    required: ["path", "edits"],
  },
  prepare: prepareEdits,
};

export const BASH = {
  name: "bash",
  description: "Run a shell command. Background processes are killed when it ends.",
  parameters: {
    type: "object",
    properties: {
      command: { type: "string" },
      timeout: { type: "number", description: `Seconds, default ${BASH_SECONDS}` },
    },
    required: ["command"],
  },
};

export const GREP = {
  name: "grep",
  description: "Search files with a JS regular expression; skips ignored files.",
  parameters: {
    type: "object",
    properties: {
      pattern: { type: "string" },
      path: { type: "string" },
      glob: { type: "string", description: "Which files" },
      ignoreCase: { type: "boolean" },
      literal: { type: "boolean" },
      context: { type: "integer", description: "Lines around" },
      limit: { type: "integer", description: `Default ${GREP_MATCHES}` },
    },
    required: ["pattern"],
  },
};

export const FIND = {
  name: "find",
  description: "Find files by glob, such as *.ts or src/**/*.ts; skips ignored files.",
  parameters: {
    type: "object",
    properties: { pattern: { type: "string" }, path: { type: "string" }, limit: { type: "integer" } },
    required: ["pattern"],
  },
};

export const LS = {
  name: "ls",
  description: "List a folder.",
  parameters: { type: "object", properties: { path: { type: "string" } } },
};

/** Models also send the list as a JSON text, one edit without a list, or the two texts beside the path. */
function prepareEdits(args: unknown): unknown {
  if (!isRecord(args)) return args;
  const { oldText, newText, ...rest } = args;
  let edits: unknown = rest.edits;
  if (typeof edits === "string") {
    try {
      edits = JSON.parse(edits);
    } catch {
      return args;
    }
  }
  if (edits === undefined && typeof oldText === "string") edits = { oldText, newText };
  return { ...rest, edits: isRecord(edits) ? [edits] : edits };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
