/** A module that scripts/build makes: the texts of sandbox/guest/packages.ts, built. */
declare module "xdev:guest-sources" {
  export const sources: Record<string, string>;
}
