/**
 * The extension that attempts run in, and what it gives them: an attacker who knows what to look for. Its tool evaluates the text of
 * one attempt as the body of an async function.
 */

/** What it knows of the outside; nothing of it is a secret. */
export interface Target {
  /** A file that it must not read. */
  canary: string;
  /** The folder of that file, in which nothing may change. */
  folder: string;
  /** A server that must see no connection. */
  url: string;
  port: number;
  /** One that it may be granted: it redirects to what its query says (`to`, `code`). */
  openUrl: string;
  openPort: number;
  /** The name of a variable of the process. */
  variable: string;
  /** The name of the extension beside it, and its storage. */
  victim: string;
  victimStorage: string;
  dataDir: string;
  cwd: string;
}

// biome-ignore lint/security/noGlobalEval: the compartment's own
const evaluate = eval;
const WORD = "imp".concat("ort");
/** Its name in the text brings it. */
globalThis.Temporal;
type Loose = Record<PropertyKey, unknown>;
const { ownKeys, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;

/** Everything that is known to be reachable: what is not in it is worth a look. */
const known = new Set<unknown>();

function spread(root: unknown, from: Set<unknown>, limit: number): object[] {
  const found: object[] = [];
  const queue: unknown[] = [root];
  while (queue.length > 0 && found.length < limit) {
    const value = queue.shift();
    if ((typeof value !== "object" || value === null) && typeof value !== "function") continue;
    if (from.has(value)) continue;
    from.add(value);
    found.push(value);
    try {
      queue.push(getPrototypeOf(value));
      for (const key of ownKeys(value)) {
        const property = getOwnPropertyDescriptor(value, key);
        queue.push(property?.value, property?.get, property?.set);
      }
    } catch {
      // A proxy that does not want to be looked into.
    }
  }
  return found;
}

/**
 * Uses something that may make functions of text, or be the global object outside. Gives what it got out of it, `nothing` if the
 * compartment's walls held.
 */
async function power(candidate: unknown, target: Target): Promise<string> {
  const got: string[] = [];
  const use = async (body: string): Promise<void> => {
    for (const make of [
      () => (candidate as (text: string) => unknown)(body),
      () => Reflect.construct(candidate as () => void, [body]),
    ]) {
      try {
        const made = make();
        const value = typeof made === "function" ? await made() : await made;
        if (value === undefined || value === globalThis || made === value) continue;
        if (typeof value === "string") got.push(`OUTSIDE: ${value}`);
        else if (typeof value === "object" && value !== null && "Object" in value)
          got.push("OUTSIDE: a global");
      } catch {
        // The wall.
      }
    }
  };
  if (typeof candidate === "function") {
    const path = JSON.stringify(target.canary);
    await use("return this");
    await use("return globalThis");
    await use(`return ${WORD}('node:fs').then((fs) => fs.readFileSync(${path}, 'utf8'))`);
    await use(`return ${WORD}.defer('node:fs').then((fs) => fs.readFileSync(${path}, 'utf8'))`);
  }
  for (const name of [
    "Bun",
    "Deno",
    "process",
    "require",
    "mainModule",
    "postMessage",
    "binding",
    "readFileSync",
    "spawn",
  ]) {
    try {
      const part = (candidate as Loose)[name];
      if (part !== undefined && part !== (globalThis as Loose)[name]) got.push(`OUTSIDE: ${name}`);
    } catch {
      // The wall.
    }
  }
  return got.join("; ") || "nothing";
}

/** Looks at everything that leads on from a value and that was not known before, and tries to use it. */
async function chase(root: unknown, target: Target): Promise<string> {
  const got = new Set<string>();
  for (const value of spread(root, new Set(known), 400)) {
    got.add(await power(value, target));
    try {
      got.add(await power((value as Loose).constructor, target));
      got.add(await power(((value as Loose).constructor as unknown as Loose).constructor, target));
    } catch {
      // None.
    }
  }
  got.add(await power((root as Loose | undefined)?.constructor, target));
  got.add(await power(((root as Loose | undefined)?.constructor as Loose | undefined)?.constructor, target));
  got.delete("nothing");
  return [...got].join("; ") || "nothing";
}

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Whatever can be read of a value, as text. */
function show(value: unknown): string {
  if (typeof value === "string") return value;
  const parts: string[] = [];
  try {
    parts.push(JSON.stringify(value) ?? String(value));
  } catch {
    parts.push("no JSON");
  }
  if (value instanceof Error)
    parts.push(
      `${value.name}: ${value.message}`,
      String((value as { code?: unknown }).code ?? ""),
      String(value.stack),
    );
  return parts.filter((part) => part !== "").join(" | ");
}

// biome-ignore lint/suspicious/noExplicitAny: an extension has no types of ours
export default (pi: any) => {
  spread(globalThis, known, 20_000);
  pi.registerTool({
    name: "attempt",
    parameters: { type: "object" },
    async execute(
      _id: string,
      params: { source: string; target: Target },
      signal: unknown,
      update: unknown,
      ctx: unknown,
    ) {
      const { source, target } = params;
      const means = {
        target,
        pi,
        ctx,
        signal,
        update,
        caught,
        WORD,
        chase: (value: unknown) => chase(value, target),
        power: (value: unknown) => power(value, target),
        load: (name: string) => import(name),
      };
      try {
        const run = evaluate(`(async ({ ${Object.keys(means).join(", ")} }) => {\n${source}\n})`);
        return `value: ${show(await run(means))}`;
      } catch (error) {
        return `error: ${show(error)}`;
      }
    },
  });
};
