/** `createEventBus`: channels within one extension. What all extensions share is `pi.events`. */

type Listener = (data: unknown) => unknown;

export interface EventBus {
  emit(channel: string, data: unknown): void;
  /** Gives the function that ends it. */
  on(channel: string, listener: Listener): () => void;
  /** Ends all of them. */
  clear(): void;
}

/** A bus of its own. A listener that throws is told to the extension's log; the others hear all the same. */
export function createEventBus(): EventBus {
  const channels = new Map<string, Set<{ listener: Listener }>>();
  return {
    emit(channel, data) {
      for (const { listener } of [...(channels.get(channel) ?? [])]) void call(channel, listener, data);
    },
    on(channel, listener) {
      const entry = { listener };
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(entry));
      return () => {
        listeners.delete(entry);
        if (listeners.size === 0 && channels.get(channel) === listeners) channels.delete(channel);
      };
    },
    clear: () => channels.clear(),
  };
}

async function call(channel: string, listener: Listener, data: unknown): Promise<void> {
  try {
    await listener(data);
  } catch (error) {
    console.error(`a listener of the channel ${channel} failed: ${String(error)}`);
  }
}
