/**
 * Extensions that start when they are needed. What a module registered is kept with the digest of its bundle and of what it may depend
 * on besides; one that registered nothing but what waits to be called (tools, commands, flags, shortcuts, handlers of what comes
 * later in a session), and did nothing else while it loaded, is ready by that the next time, and nothing of it runs
 * until it is asked something, or could be in the run that begins. Whoever names an event that decides something without having listened
 * to it is started always. When it starts, what it registers then is what counts.
 */
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import { type Cache, sha256 } from "../base/cache.ts";
import { IN_A_RUN } from "./event-sender.ts";
import { type Capabilities, parseInbound } from "./frame.ts";

/** What may be registered by one that sleeps: it is of no use before somebody asks for it. */
const WAITS: ReadonlySet<string> = new Set([
  "tools",
  "commands",
  "flags",
  "shortcuts",
  "renderers",
  "features",
  "label",
  "failOpen",
]);

/**
 * Events that come behind the first request to a model, or hardly ever: until one of them comes, whoever listens to no others has missed
 * nothing. The others come at a start, and whoever started then would be waited for.
 */
const LATER: ReadonlySet<string> = new Set([
  ...IN_A_RUN,
  "auto_compaction_start",
  "auto_compaction_end",
  "auto_retry_start",
  "auto_retry_end",
  "ttsr_triggered",
  "todo_reminder",
  "user_bash",
  "user_python",
  "session_before_switch",
  "session_switch",
  "session_before_branch",
  "session_branch",
  "session_before_compact",
  "session.compacting",
  "session_compact",
  "session_before_tree",
  "session_tree",
  "session_shutdown",
]);

/** Said by a module that does something of its own, such as a timer, when it has loaded. */
export const BUSY = "busy";

/** Whether everything that an extension registers can wait until it is used. What is not known here can't. */
export function needsNoStart(capabilities: Capabilities): boolean {
  if (capabilities.features.includes(BUSY)) return false;
  const { tools, commands, flags, shortcuts, events } = capabilities;
  const waits = Object.entries(capabilities).every(
    ([member, value]) => WAITS.has(member) || member === "events" || isNothing(value),
  );
  const registered = [tools, commands, flags, shortcuts, events].some(({ length }) => length > 0);
  return waits && registered && events.every((event) => LATER.has(event));
}

/** Who listens to these decides what may be done, or what is seen of it. */
const DECIDES = ["tool_call", "tool_result", "user_bash", "user_python"] as const;

/**
 * Whether the code names an event of those that it did not listen to the last time. It may listen to it this time, or some time after it has
 * loaded (what it goes by, such as the clock, is not all known), and left asleep it would not be asked.
 */
function mayDecide(source: string, { events }: Capabilities): boolean {
  return DECIDES.some(
    (event) => !events.includes(event) && source.includes(event) && new RegExp(`\\b${event}\\b`).test(source),
  );
}

function isNothing(value: unknown): boolean {
  return value == null || value === false || (Array.isArray(value) && value.length === 0);
}

/** So many are kept of one module: of several folders that it is used in, several grants. */
const MOST = 16;

interface Kept {
  key: string;
  capabilities: unknown;
}

export class Registrations {
  readonly #cache: Cache;

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /**
   * What the module at `path`, canonical, registered the last time, if it could sleep and nothing has changed. Looks first whether
   * anything is kept: most modules are not looked at any further.
   */
  async find(
    path: string,
    current: () => Promise<{ bundle: LoadedBundle; circumstances: string } | undefined>,
  ): Promise<{ capabilities: Capabilities; bundle: LoadedBundle } | undefined> {
    const kept = await this.#read(path);
    if (kept.length === 0) return undefined;
    const now = await current();
    const found = now && kept.find(({ key }) => key === keyOf(now.bundle.stamp, now.circumstances));
    if (!now || !found) return undefined;
    const parsed = parseInbound({ type: "capabilities", payload: found.capabilities });
    if (!("frame" in parsed) || parsed.frame.type !== "capabilities") return undefined;
    const { payload } = parsed.frame;
    if (!needsNoStart(payload) || mayDecide(now.bundle.source, payload)) return undefined;
    return { capabilities: payload, bundle: now.bundle };
  }

  /** Keeps what a module registered; undefined: it can't sleep any more. */
  async keep(
    path: string,
    stamp: string,
    circumstances: string,
    capabilities: Capabilities | undefined,
  ): Promise<void> {
    const key = keyOf(stamp, circumstances);
    const kept = await this.#read(path);
    const same = kept.find((one) => one.key === key);
    if (JSON.stringify(same?.capabilities) === JSON.stringify(capabilities)) return;
    const others = kept.filter((one) => one.key !== key).slice(0, MOST - 1);
    await this.#cache.write(nameOf(path), path, capabilities ? [{ key, capabilities }, ...others] : others);
  }

  async #read(path: string): Promise<Kept[]> {
    const value = await this.#cache.read(nameOf(path), path);
    return Array.isArray(value) && value.every(isKept) ? value : [];
  }
}

function isKept(value: unknown): value is Kept {
  return typeof (value as Kept | null)?.key === "string";
}

function keyOf(stamp: string, circumstances: string): string {
  return sha256(`${stamp} ${circumstances}`);
}

function nameOf(path: string): string {
  return `registered-${sha256(path).slice(0, 32)}`;
}
