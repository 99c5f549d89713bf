/**
 * Watching files and folders. Events wait here, bounded, until the extension asks for them; what happens in places that it may
 * not read is left out, also below a folder that it may.
 */
import { basename, join } from "node:path";
import * as v from "valibot";
import { canonicalPath } from "../../src/base/files.ts";
import { type CallContext, type Operations, operation } from "./broker.ts";
import { toCallError } from "./fs-errors.ts";
import { Moved, sameFile } from "./fs-hold.ts";
import { entriesIn } from "./fs-listing.ts";
import { idParam, pathParam } from "./fs-params.ts";
import { attempt, checkOpenable, holdPlace, locate, type Place } from "./fs-place.ts";
import { type EventType, TreeWatch } from "./fs-watch-tree.ts";

/** The most events that wait; the newer ones are dropped, as the kernel does. */
const MAX_EVENTS = 1024;

type WatchEvent = [type: EventType, name: string | null];

const WATCH = "watch";

export const watchOperations: Operations = {
  "fs.watch": operation({
    params: v.strictObject({ path: pathParam, recursive: v.boolean() }),
    run({ path, recursive }, context) {
      const asked = { syscall: "watch", path };
      return attempt(asked, async () => {
        const place = await locate(context, asked, path, true, "read");
        await using held = await holdPlace({ place }, asked);
        await checkOpenable(held, asked, context);
        const isFolder = held.info.isDirectory();
        const watching = new Watching(context, place, isFolder, recursive && isFolder);
        const id = context.resources.add(WATCH, watching, () => watching.close());
        // It was started by path: is that path still what was decided on?
        try {
          await using now = await holdPlace({ place }, asked);
          if (!sameFile(now.info, held.info)) throw new Moved();
          await watching.start();
        } catch (error) {
          await context.resources.remove(WATCH, id);
          throw error;
        }
        return { value: id };
      });
    },
  }),

  /** The events since the last time; waits for the first. Gives null once the watch is closed. */
  "fs.watchNext": operation({
    params: v.strictObject({ id: idParam }),
    async run({ id }, context) {
      return { value: await context.resources.get<Watching>(WATCH, id).next() };
    },
  }),

  "fs.unwatch": operation({
    params: v.strictObject({ id: idParam }),
    async run({ id }, context) {
      await context.resources.remove(WATCH, id);
      return {};
    },
  }),
};

class Watching {
  readonly #tree: TreeWatch;
  #events: WatchEvent[] = [];
  #underWay = 0;
  #isClosed = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(context: CallContext, place: Place, isFolder: boolean, recursive: boolean) {
    this.#tree = new TreeWatch({
      path: place.path,
      recursive,
      entriesIn: (folder) => entriesIn(folder, context),
      mayWatch: (path) => context.rights.has({ kind: "read", path }),
      onEvent: (type, name) => {
        if (this.#events.length + this.#underWay >= MAX_EVENTS) return;
        // A watched file is named by its own name, whatever the runtime calls it.
        if (!isFolder) return this.#add([type, basename(place.path)]);
        void this.#check(context, place, type, name);
      },
      onError: (error) => {
        this.#failure = toCallError(error, { syscall: "watch" });
        this.#wake?.();
      },
    });
  }

  start(): Promise<void> {
    return this.#tree.start();
  }

  async #check(context: CallContext, place: Place, type: EventType, name: string | null): Promise<void> {
    if (name === null) return this.#add([type, null]);
    this.#underWay++;
    try {
      const path = await canonicalPath(join(place.path, name));
      if (context.rights.has({ kind: "read", path })) this.#add([type, name]);
    } catch {
      // A loop of links: whose place it is can't be said.
    } finally {
      this.#underWay--;
    }
  }

  #add(event: WatchEvent): void {
    if (this.#isClosed) return;
    this.#events.push(event);
    this.#wake?.();
  }

  async next(): Promise<WatchEvent[] | null> {
    while (!this.#isClosed && !this.#failure && this.#events.length === 0) {
      await new Promise<void>((resolve) => {
        const before = this.#wake;
        this.#wake = () => {
          before?.();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    if (this.#isClosed) return null;
    if (this.#failure) throw this.#failure;
    const events = this.#events;
    this.#events = [];
    return events;
  }

  close(): void {
    this.#isClosed = true;
    this.#tree.close();
    this.#wake?.();
  }
}
