/** Runs `action` at most once every `ms`: at once, then with the latest state when the time is over. `stop` when done. */
export function throttle(ms: number, action: () => void): { run(): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = Number.NEGATIVE_INFINITY;
  const fire = () => {
    timer = undefined;
    last = performance.now();
    action();
  };
  return {
    run() {
      const wait = last + ms - performance.now();
      // Even if a timer is set: a flood of events can hold timers up.
      if (wait <= 0) {
        clearTimeout(timer);
        fire();
      } else timer ??= setTimeout(fire, wait);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
