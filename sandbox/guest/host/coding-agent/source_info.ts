/** Where something comes from, for what an extension makes itself. */
export function createSyntheticSourceInfo(
  path: string,
  options: { source: string; scope?: string; origin?: string; baseDir?: string },
): { path: string; source: string; scope: string; origin: string; baseDir: string | undefined } {
  const { source, scope = "temporary", origin = "top-level", baseDir } = options;
  return { path, source, scope, origin, baseDir };
}
