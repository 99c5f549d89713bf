/** `xdev ext replay FILE --against PATH`: sends a recorded trace to an extension and shows where its answers differ. */
import { readFile } from "node:fs/promises";
import { errorText, XdevError } from "../base/errors.ts";
import { resolvePath } from "../base/files.ts";
import { log, redact, setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { ellipsis, stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { loadSettings } from "../config/settings.ts";
import { sessionAuthority } from "../extensions/authority.ts";
import type { Difference } from "../extensions/json-diff.ts";
import { ExtensionManager } from "../extensions/manager.ts";
import { readRecording } from "../extensions/recording.ts";
import { type Comparison, compareReplay, type ReplayReport } from "../extensions/replay-report.ts";
import { parseTrace } from "../extensions/trace.ts";
import { TracePlayer } from "../extensions/trace-player.ts";
import type { Invocation } from "./args.ts";
import { findExtension } from "./one-extension.ts";
import { EXIT, rejectOnAbort } from "./process-guard.ts";

type ReplayInvocation = Extract<Invocation, { command: "ext-replay" }>;

/** Gives the exit status: 0 if nothing differs. Throws `XdevError` with code `bad-trace` for a file that is none. */
export async function extReplay(invocation: ReplayInvocation, interrupt: AbortSignal): Promise<number> {
  const { options, file, against } = invocation;
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const text = await readFile(resolvePath(file, startFolder()), "utf8").catch((error: unknown) => {
    throw new XdevError("bad-trace", `cannot read ${file}: ${errorText(error)}`);
  });
  const recording = readRecording(parseTrace(text, file));
  const [source, settings] = await Promise.all([findExtension(against, dataDir), loadSettings(dataDir)]);

  const player = new TracePlayer(recording);
  const load = ExtensionManager.load({
    sources: [source],
    settings: settings.extensionHost,
    env: process.env,
    dataDir,
    // As in a session without a terminal: what was granted, and no question.
    authority: sessionAuthority({
      dataDir,
      cwd: startFolder(),
      env: process.env,
      settings: settings.extensionHost,
      notice: (text) => log.debug(text),
    }),
    wrapChannel: (channel) => player.attach(channel),
    host: {
      notice: (notice) => log.debug(notice),
      notify: () => {},
      action: () => {},
    },
  });
  const manager = await Promise.race([load, rejectOnAbort(interrupt)]);
  const [extension] = manager.extensions;
  const failure = manager.failures()[0]?.reason;
  try {
    if (extension && failure === undefined) await player.play(extension.limits, interrupt);
  } finally {
    await (interrupt.aborted ? manager.abort() : manager.stop());
  }
  if (interrupt.aborted) return EXIT.interrupted;
  const report = compareReplay(recording, player.playback(), failure);
  const { name, path, kind } = source;
  print(
    "stdout",
    invocation.json
      ? `${JSON.stringify({ extension: { name, path, kind }, ...report }, null, 2)}\n`
      : `${redact(page(report))}\n`,
  );
  return report.same ? EXIT.done : EXIT.failed;
}

/** The report for a person. */
function page(report: ReplayReport): string {
  const { capabilities, events, missing, extra } = report;
  const rows = comparison("capabilities", capabilities);
  for (const event of events) {
    const about = event.about === undefined ? "" : ` ${event.about}`;
    rows.push(...comparison(`${event.number} ${String(event.event)}${about}`, event));
  }
  for (const frame of missing) rows.push(`missing: ${show(frame)}`);
  for (const frame of extra) rows.push(`extra: ${show(frame)}`);
  const differing = events.filter(({ status }) => status !== "same").length;
  const answers = `${events.length} answer${events.length === 1 ? "" : "s"}`;
  if (report.same) rows.push(`no difference: capabilities and ${answers}`);
  else if (differing > 0) rows.push(`${differing} of ${answers} differ${differing === 1 ? "s" : ""}`);
  else rows.push(`${answers} the same, but not the rest`);
  return rows.join("\n");
}

function comparison(title: string, { status, reason, differences = [] }: Comparison): string[] {
  const why =
    status === "extra" ? ": the recording has no answer" : reason === undefined ? "" : `: it ${reason}`;
  const head = `${clean(title)}: ${status}${why}`;
  return [head, ...differences.map((difference) => `    ${line(difference)}`)];
}

function line(difference: Difference): string {
  const { path, recorded, replayed } = difference;
  const where = path === "" ? "" : `${clean(path)}: `;
  if (!Object.hasOwn(difference, "recorded")) return `${where}+ ${show(replayed)}`;
  if (!Object.hasOwn(difference, "replayed")) return `${where}- ${show(recorded)}`;
  if (typeof recorded === "string" && typeof replayed === "string") {
    const start = firstDifference(recorded, replayed);
    return `${where}${show(excerpt(recorded, start))} → ${show(excerpt(replayed, start))}`;
  }
  return `${where}${show(recorded)} → ${show(replayed)}`;
}

/** Of long texts, the part in which they begin to differ. */
function excerpt(text: string, start: number): string {
  const from = start > 60 ? start - 30 : 0;
  return `${from > 0 ? "…" : ""}${text.slice(from)}`;
}

function firstDifference(one: string, other: string): number {
  let index = 0;
  while (index < one.length && one[index] === other[index]) index++;
  return index;
}

function show(value: unknown): string {
  return clean(JSON.stringify(value) ?? "nothing");
}

function clean(text: string): string {
  return ellipsis(stripControls(text).replace(/\s+/g, " "), 160);
}
