import type { GuestWorker } from "./index.ts";

/** A worker of our own code, by the interface that Bun and Deno share: plain messages, and one report of its end. */
export function ownWorker(
  entry: string,
  options: { name: string; env?: Record<string, string>; smol?: boolean },
): GuestWorker {
  const worker = new Worker(entry, { type: "module", ...options } as WorkerOptions);
  // Who waits for an answer holds the process by a timer.
  (worker as { unref?(): void }).unref?.();
  let ended = false;
  return {
    post: (message) => worker.postMessage(message),
    onMessage: (listener) => {
      worker.onmessage = (event: MessageEvent) => {
        if (!ended) listener(event.data);
      };
    },
    onExit: (listener) => {
      const end = (reason: string) => {
        if (ended) return;
        ended = true;
        listener(reason);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        end(`failed: ${/^\w*Error: .*/m.exec(event.message)?.[0] ?? event.message}`);
        worker.terminate();
      };
      worker.addEventListener("close", () => end("ended by itself"));
    },
    async terminate() {
      ended = true;
      worker.terminate();
    },
  };
}
