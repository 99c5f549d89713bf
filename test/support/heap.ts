import { heapStats } from "bun:jsc";

export interface Heap {
  bytes: number;
  objects: number;
}

/** What is left of this thread's heap when everything that can go is gone. Bun only. */
export async function settledHeap(): Promise<Heap> {
  // What one collection lets go of (finalizers, weak references, timers) may hold what the next one frees.
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    Bun.gc(true);
  }
  const { heapSize, objectCount } = heapStats();
  return { bytes: heapSize, objects: objectCount };
}
