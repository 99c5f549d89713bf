/** The schemas of what a user writes to define hooks (wire-notes.md, "Shell hooks"). */
import { z } from "zod";
import { hidesSomething } from "../base/text.ts";
import { HOOK_EVENTS, type HookEvent } from "./events.ts";

const command = z
  .string()
  .regex(/\S/, "the command is empty")
  // What a person is shown before trusting it must be what runs.
  .refine((text) => !hidesSomething(text), "the command has control characters or invisible ones in it")
  .describe("run by sh -c, payload on stdin");

/** A file in a hooks folder. */
export const hookFileSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("what messages call the hook; default: the file's name"),
  event: z.enum(HOOK_EVENTS),
  command,
  matcher: z
    .string()
    .optional()
    .describe("a regular expression on the tool's name; on the compact JSON for events without a tool"),
  if: z
    .string()
    .optional()
    .describe('a permission spec such as "Bash(git *)"; only matching calls are asked about'),
});

/** Only the event, for the question which event a file that is otherwise wrong was meant for. */
export const hookEventSchema = z.looseObject({ event: z.enum(HOOK_EVENTS) });

const commands = z.union([command, z.array(command).max(100)]);

/** The key `hooks` of config.yml: a command, or a list of them, for each event. */
export const hooksSettingSchema = z.strictObject(
  Object.fromEntries(HOOK_EVENTS.map((event) => [event, commands.optional()])) as Record<
    HookEvent,
    z.ZodOptional<typeof commands>
  >,
);

export type HooksSetting = z.infer<typeof hooksSettingSchema>;
