/** `xdev models`: what is usable, and why the rest is not. */
import { setVerbose } from "../base/log.ts";
import { print } from "../base/output.ts";
import { startFolder } from "../base/start-folder.ts";
import { stripControls } from "../base/text.ts";
import { dataDirectory } from "../config/datadir.ts";
import { type ListedProvider, listModels } from "../models/index.ts";
import type { Invocation } from "./args.ts";
import { EXIT } from "./process-guard.ts";
import { withProviders } from "./provider-extensions.ts";

/** Prints the models; the exit status is 0 even if there is none. */
export async function models(
  { json, options }: Extract<Invocation, { command: "models" }>,
  interrupt: AbortSignal,
): Promise<number> {
  setVerbose(options.verbose === true);
  const dataDir = dataDirectory(options.dataDir, process.env, startFolder());
  const listing = await withProviders(options, dataDir, { interrupt }, ({ providers: registered }) =>
    listModels({ dataDir, cwd: startFolder(), env: process.env, signal: interrupt, registered }),
  );
  print("stdout", json ? `${JSON.stringify(listing, null, 2)}\n` : page(listing.providers));
  return EXIT.done;
}

function page(providers: readonly ListedProvider[]): string {
  const usable = providers.filter((provider) => provider.usable);
  const rest = providers.filter((provider) => !provider.usable);
  const rows = usable.flatMap(({ name, source, extension, models: listed }) => [
    `${name} (${source}${extension === undefined ? "" : ` ${extension}`})`,
    ...listed.map(
      ({ id, contextWindow }) => `  ${name}/${id}${contextWindow ? `  ${tokens(contextWindow)}` : ""}`,
    ),
  ]);
  if (rows.length === 0) rows.push("no model is usable");
  if (rest.length > 0)
    rows.push("", "Not usable:", ...rest.map(({ name, reason }) => `  ${name}: ${reason}`));
  return `${stripControls(rows.join("\n"))}\n`;
}

function tokens(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000}M tokens` : `${Math.round(count / 1000)}k tokens`;
}
