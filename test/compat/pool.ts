/** Work that is begun a few pieces at a time, in order, as soon as the first result is wanted. */
export function pool<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): (item: Item) => Promise<Result> {
  const results = new Map(items.map((item) => [item, Promise.withResolvers<Result>()]));
  let started = false;
  const start = (): void => {
    started = true;
    const left = [...items];
    const next = async (): Promise<void> => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        const result = results.get(item)!;
        // Whoever waits for it is told; the others go on.
        result.promise.catch(() => {});
        await work(item).then(result.resolve, result.reject);
      }
    };
    for (let count = 0; count < atOnce; count++) void next();
  };
  return (item) => {
    if (!started) start();
    return results.get(item)!.promise;
  };
}
