/**
 * The schema of `xdev.permissions` in an extension's package.json. Each permission is a list, of which an entry is a value, or
 * values with the reason that the user is shown; or such an entry alone. Its JSON Schema is a part of the manifest's.
 */
import { z } from "zod";
import type { Kind } from "./permissions.ts";
import { BadValue, MAX_VALUE, parseValue, SESSION_VALUES, SYS_VALUES } from "./values.ts";

export const MAX_REASON = 300;
const MAX_ENTRIES = 100;

const reason = z.string().min(1).max(MAX_REASON).describe("why, in one sentence: the user is shown it");

function listOf<S extends z.ZodType<string>>(member: string, value: S, about: string) {
  const values = z.array(value).min(1).max(MAX_ENTRIES);
  const withReason = z.strictObject({ [member]: values, reason: reason.optional() });
  return z
    .union([z.array(z.union([value, withReason])).max(MAX_ENTRIES), withReason], {
      error: `must be a list of texts, or {"${member}": […], "reason": "…"}`,
    })
    .optional()
    .describe(about);
}

function textOf(kind: Kind, about: string) {
  return z
    .string()
    .max(MAX_VALUE)
    .superRefine((text, context) => {
      try {
        parseValue(kind, text);
      } catch (error) {
        if (!(error instanceof BadValue)) throw error;
        context.addIssue({ code: "custom", message: error.message });
      }
    })
    .describe(about);
}

/** One of these words, and no `*`. Like `textOf`, so that an error names the value, and in the JSON Schema it is an enum. */
function wordOf(known: readonly string[]) {
  return z
    .string()
    .superRefine((text, context) => {
      if (known.includes(text)) return;
      const shown = JSON.stringify(text.slice(0, 100));
      context.addIssue({ code: "custom", message: `${shown} must be one of ${known.join(", ")}` });
    })
    .meta({ enum: [...known] });
}

const flag = (about: string) =>
  z
    .union([z.boolean(), z.strictObject({ reason })])
    .optional()
    .describe(about);

const path = (kind: "read" | "write") =>
  textOf(kind, "$CWD, $HOME (or ~), $TMP, a path below one of them, or an absolute path; * for all files");

export const permissionsSchema = z.strictObject({
  read: listOf("paths", path("read"), "files and folders to read, with everything below them"),
  write: listOf("paths", path("write"), "files and folders to write, with everything below them"),
  net: listOf(
    "hosts",
    textOf("net", "host, host:port, *.host or an address; * for every public host"),
    "hosts to connect to; an address that is not public must be named itself",
  ),
  run: listOf(
    "programs",
    textOf("run", 'a program, or one with its first arguments ("git status"); * for all but shells'),
    "programs to run: they are not confined",
  ),
  env: listOf(
    "names",
    textOf("env", "a name, or the beginning of names with * behind it"),
    "environment variables to read",
  ),
  sys: listOf("values", wordOf(SYS_VALUES), "facts about the machine"),
  model: flag("call the user's model"),
  session: listOf("access", wordOf(SESSION_VALUES), "the session's entries; read needs no grant"),
  ui: flag("talk to the user; needs no grant"),
  provider: flag("register a model provider, which reads the conversation"),
  tools: listOf("names", textOf("tools", "the name of a built-in tool"), "built-in tools to replace"),
  wasm: flag("WebAssembly"),
});

export type PermissionsInput = z.input<typeof permissionsSchema>;
