/**
 * The bundler's worker: trusted code on a thread of its own, since reading, linking and checking a large extension takes
 * seconds of a processor. Nothing of the extension runs here. One request is answered after the other (bundler.ts).
 */
import { sha256 } from "../../src/base/cache.ts";
import { errorText, XdevError } from "../../src/base/errors.ts";
import type { Bundled, BundlerAnswer } from "./bundler.ts";
import { bundleExtension } from "./index.ts";

interface Scope {
  postMessage(message: BundlerAnswer, moved?: ArrayBufferLike[]): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
}

const scope = globalThis as unknown as Scope;

scope.addEventListener("message", async ({ data }) => {
  try {
    const bundle = await bundleExtension(data as string);
    const { imports, declares, read, probes, folders, places } = bundle;
    const source = new TextEncoder().encode(bundle.source);
    // What it was made of as text: to clone ten thousand small arrays would hold up the thread that gets them.
    const inputs = JSON.stringify({ files: read, probes, folders });
    const answer: Bundled = { source, digest: sha256(source), imports, declares, inputs, places };
    scope.postMessage(answer, [source.buffer, places.lines.buffer]);
  } catch (error) {
    const known = error instanceof XdevError ? error : undefined;
    scope.postMessage({
      failure: { code: known?.code ?? "bundle-failed", message: errorText(error), hint: known?.hint },
    });
  }
});
