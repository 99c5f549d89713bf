import { z } from "zod";

/** The source of a regular expression with the flag u. */
export const regularExpression = z.string().superRefine((text, context) => {
  try {
    new RegExp(text, "u");
  } catch (error) {
    context.addIssue({
      code: "custom",
      message: error instanceof Error ? error.message : "not a regular expression",
    });
  }
});

/** What the last message before a turn must be; a string is short for `contains`. */
const expectation = z.strictObject({
  role: z.enum(["user", "assistant", "toolResult"]).optional(),
  contains: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("parts of its text, all of them"),
  matches: regularExpression.optional().describe("a regular expression (flag u) that its text matches"),
  toolName: z.string().optional().describe("of a tool result: the tool"),
  isError: z.boolean().optional().describe("of a tool result: whether the tool failed"),
});

const toolCall = z.strictObject({
  name: z.string().min(1),
  arguments: z.record(z.string(), z.json()).default({}),
  id: z.string().min(1).optional(),
});

/** What a model says at one request. */
export const turnSchema = z.strictObject({
  text: z.string().optional(),
  thinking: z.string().optional(),
  toolCalls: z.array(toolCall).optional(),
  error: z.string().min(1).optional().describe("ends the turn, after its text, as a failed request"),
  delayMs: z.number().nonnegative().max(600_000).default(0).describe("before the turn's first part, in ms"),
  stopReason: z
    .enum(["stop", "length", "toolUse"])
    .optional()
    .describe("default: toolUse with tool calls, else stop"),
  expect: z.union([z.string(), expectation]).optional(),
});

/** A replay file. See `replay.ts`. */
export const replaySchema = z.union([z.array(turnSchema), z.strictObject({ turns: z.array(turnSchema) })]);

export type Turn = z.output<typeof turnSchema>;
export type Expectation = z.output<typeof expectation>;
