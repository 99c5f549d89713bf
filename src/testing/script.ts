/** A script for `xdev ext test`: what a model and a user say in a session, and what should come of it (`xdev docs testing`). */
import { z } from "zod";
import { declarationOf } from "../../sandbox/permissions/declaration.ts";
import { permissionsSchema } from "../../sandbox/permissions/schema.ts";
import { regularExpression, turnSchema } from "../models/replay-schema.ts";

const contains = z
  .union([z.string(), z.array(z.string()).min(1)])
  .optional()
  .describe("parts of the text, all of them");
const matches = regularExpression.optional().describe("a regular expression (flag u) that the text matches");

/** About a text: a string is short for `contains`. */
function about<S extends z.ZodRawShape>(more: S) {
  return z.union([z.string(), z.strictObject({ contains, matches, ...more })]);
}

const name = z.string().min(1);
/** Of an object: what is not named may be there, too. */
const members = z.record(z.string(), z.json());

/** What an expectation may be about; each has exactly one of these. */
const subjects = {
  toolResult: about({
    tool: name.optional(),
    isError: z.boolean().optional(),
    details: members.optional().describe("members that its details have"),
  }).describe("a tool has given a result"),
  blocked: about({ tool: name.optional() }).describe("a tool call was denied by an extension or a hook"),
  notify: about({ level: z.enum(["info", "warning", "error"]).optional() }).describe("ctx.ui.notify"),
  dialog: about({ method: z.enum(["select", "confirm", "input", "editor"]).optional() }).describe(
    "the user was asked: its title, message and options",
  ),
  status: about({ key: name.optional() }).describe("ctx.ui.setStatus"),
  widget: about({ key: name.optional() }).describe("ctx.ui.setWidget with lines"),
  title: about({}).describe("ctx.ui.setTitle"),
  editorText: about({}).describe("ctx.ui.setEditorText"),
  entry: about({ type: name.optional(), customType: name.optional(), data: members.optional() }).describe(
    "an entry has come into the session; the text is its JSON",
  ),
  message: about({ role: name.optional(), customType: name.optional() }).describe(
    "a message has come into the conversation",
  ),
  output: about({}).describe("a text that is an answer although no model gave it: of a command"),
  notice: about({}).describe("xdev has told the user something"),
  error: about({ event: name.optional() }).describe("a handler of the extension has failed"),
  request: about({
    systemPrompt: z
      .union([z.string(), z.array(z.string())])
      .optional()
      .describe("parts of it"),
    tools: z.array(name).optional().describe("tools that the model may call"),
  }).describe("what the model was asked: the text of all messages"),
  response: about({ success: z.boolean().optional() }).describe("the answer to the step's command"),
  record: members.describe("members of any record of rpc mode"),
  drawn: about({}).describe("what the step has drawn, without its colours"),
  file: about({ path: name, exists: z.boolean().optional() }).describe("a file in the working folder"),
};

export type Subject = keyof typeof subjects;

function oneOf<S extends z.ZodRawShape>(shape: S) {
  const partial = z.strictObject(shape).partial();
  return partial.refine((value) => Object.keys(value).length === 1, {
    error: `must have exactly one of ${Object.keys(shape).join(", ")}`,
  });
}

const expectation = oneOf({
  ...subjects,
  not: oneOf(subjects).describe("nothing of that kind has happened"),
});

const plainAnswer = z.union([z.string(), z.boolean(), z.null()]);
const answer = z.union([
  plainAnswer,
  z.strictObject({
    title: z.string().optional().describe("a part of the question: another question fails the step"),
    answer: plainAnswer.optional(),
    wait: z.literal(true).optional().describe("never answer: the dialog's own time-out ends it"),
  }),
]);

const step = z
  .strictObject({
    prompt: z.string().optional().describe("what the user writes; a command of an extension begins with /"),
    rpc: z
      .looseObject({ type: name })
      .optional()
      .describe("a command of rpc mode, for what a prompt can't do"),
    draw: z
      .strictObject({
        what: z.enum(["toolCall", "toolResult", "message", "entry"]),
        name: name.describe("of the tool, or the custom type"),
        args: members.optional().describe("of the tool call"),
        result: members.optional().describe("of the tool: content, details"),
        value: members.optional().describe("the message or the entry: content, data, details"),
        expanded: z.boolean().default(false),
        isPartial: z.boolean().default(false),
        width: z.int().min(1).max(1000).default(80),
      })
      .optional()
      .describe("has the extension draw something, as a terminal would"),
    model: z.array(turnSchema).optional().describe("what the model says, request by request"),
    answers: z
      .array(answer)
      .optional()
      .describe("what the user answers, dialog by dialog: true or false, a text, or null to dismiss it"),
    expect: z.array(expectation).optional().describe("what must have happened since the step before"),
    wait: z.boolean().default(true).describe("false: the next step begins while this one's run goes on"),
    limitMs: z.number().positive().max(600_000).default(30_000).describe("a step that takes longer fails"),
  })
  .refine(({ prompt, rpc, draw }) => [prompt, rpc, draw].filter((one) => one !== undefined).length <= 1, {
    error: "a step has one of prompt, rpc and draw",
  });

const names = z.array(name).optional();

export const testScriptSchema = z.strictObject({
  allow: z
    .union([
      z.enum(["declared", "all"]),
      permissionsSchema.transform((declared) => declarationOf(declared).permissions),
    ])
    .optional()
    .describe("what the extension may do: as in a manifest, all that it declares, or everything"),
  files: z
    .record(
      z
        .string()
        .min(1)
        .regex(/^(?!\/)(?!.*(?:^|[/\\])\.\.(?:[/\\]|$))/, "must be a path below the working folder"),
      z.string(),
    )
    .optional()
    .describe("files in the working folder, by their path"),
  tools: z
    .union([
      z.literal("real"),
      z.record(
        name,
        z.union([z.string(), z.strictObject({ text: z.string(), isError: z.boolean().default(false) })]),
      ),
    ])
    .optional()
    .describe("results of the agent's own tools, which are not run; or real: they are, with your rights"),
  config: z
    .strictObject({ extensionHost: members.optional(), session: members.optional() })
    .optional()
    .describe("settings, as in config.yml"),
  flags: z
    .record(z.string().regex(/^[A-Za-z][\w-]*$/), z.union([z.boolean(), z.string()]))
    .optional()
    .describe("flags of the extension, as on the command line"),
  registers: z
    .strictObject({
      tools: names,
      commands: names,
      events: names,
      flags: names,
      shortcuts: names,
      renderers: names,
      messageRenderers: names,
      providers: names,
    })
    .optional()
    .describe("names that the extension must have registered"),
  steps: z.array(step).default([]),
});

export type TestScript = z.output<typeof testScriptSchema>;
export type Step = TestScript["steps"][number];
export type Expectation = z.output<typeof expectation>;
export type Answer = z.output<typeof answer>;
export type About = Exclude<Expectation[Subject], string | undefined>;
