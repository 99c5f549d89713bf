/** What a reload changes: which extensions go on as they are, which end, and which are started. */
import type { LoadedBundle } from "../../sandbox/bundle/cached.ts";
import type { ExtensionHostSettings } from "../config/settings.ts";
import type { ExtensionSource } from "./discovery.ts";
import type { Member } from "./member.ts";

export interface ReloadPlan {
  /** All of the session, in their order, those that are to be started among them. */
  members: readonly Member[];
  ends: readonly Member[];
  starts: readonly Member[];
  settings: ExtensionHostSettings;
  /** Names, for the user: what is new, what is started anew because it has changed, and what is gone. */
  added: readonly string[];
  changed: readonly string[];
  removed: readonly string[];
}

export interface PlanParts {
  now: readonly Member[];
  /** With their names in the session. */
  wanted: readonly ExtensionSource[];
  /** Those that go on whatever is on the disk. */
  kept: ReadonlySet<Member>;
  settings: ExtensionHostSettings;
  /** Whether a member is still what it would be made of (`MemberMaker.compare`). */
  compare(member: Member, source: ExtensionSource): Promise<{ isSame: boolean; bundle?: LoadedBundle }>;
  make(source: ExtensionSource, isHeir: boolean, bundle: LoadedBundle | undefined): Member;
}

/** Starts and ends nothing. */
export async function planReload(parts: PlanParts): Promise<ReloadPlan> {
  const { now, wanted, kept, settings, compare, make } = parts;
  const before = new Map(now.map((member) => [member.source.path, member]));
  const changed: string[] = [];
  const added: string[] = [];
  const starts: Member[] = [];
  const compared = await Promise.all(
    wanted.map(async (source) => {
      const member = before.get(source.path);
      if (!member) return undefined;
      return { member, ...(kept.has(member) ? { isSame: true } : await compare(member, source)) };
    }),
  );
  const members = wanted.map((source, index) => {
    const { member, isSame, bundle } = compared[index] ?? {};
    if (member && isSame) return member;
    const { extension } = member ?? {};
    // What protected goes on protecting: until the new version has loaded, and can say for itself, nothing runs.
    const isHeir = extension?.isPolicy === true && !extension.failOpen;
    const fresh = make(source, isHeir, bundle);
    starts.push(fresh);
    (member ? changed : added).push(source.name);
    return fresh;
  });
  const stays = new Set(members);
  const ends = now.filter((member) => !stays.has(member));
  const paths = new Set(wanted.map(({ path }) => path));
  const removed = ends.filter(({ source }) => !paths.has(source.path)).map(({ source }) => source.name);
  return { members, ends, starts, settings, added, changed, removed };
}

/** One line for the user. */
export function reloadSummary({ members, added, changed, removed }: ReloadPlan): string {
  const parts = [
    ...(changed.length > 0 ? [`started anew: ${changed.join(", ")}`] : []),
    ...(added.length > 0 ? [`new: ${added.join(", ")}`] : []),
    ...(removed.length > 0 ? [`gone: ${removed.join(", ")}`] : []),
  ];
  const unchanged = members.length - changed.length - added.length;
  if (unchanged > 0 || parts.length === 0) parts.push(`unchanged: ${unchanged}`);
  return `extensions reloaded (${parts.join("; ")})`;
}
