/** `xdev ext types`: the types of the extension API for an editor, with everything in them that it needs. */
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath, writeFileAtomic } from "../base/files.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { apiTypes } from "../docs/manual.ts";
import { docFiles } from "../platform/docs.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";

/** Gives the exit status. */
export async function extTypes({ out }: Extract<Invocation, { command: "ext-types" }>): Promise<number> {
  const text = apiTypes(await docFiles());
  if (out === undefined) print("stdout", text);
  else {
    const file = resolvePath(out, startFolder());
    if (!file.endsWith(".d.ts")) {
      throw new XdevError("usage", `${file} is no file for types`, { hint: "its name ends in .d.ts" });
    }
    await writeFileAtomic(file, text).catch((error: unknown) => {
      throw new XdevError("not-written", `can't write ${file}: ${errorText(error)}`);
    });
  }
  return EXIT.done;
}
