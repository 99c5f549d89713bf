/** A module that scripts/build makes: the texts of sandbox/guest/packages.ts, built. */
declare module "xdev:guest-sources" {
  export const sources: Record<string, import("../../sandbox/guest/packages.ts").GuestSource>;
}

/** A module that scripts/build makes: what `readDocFiles` of docs.ts gives. */
declare module "xdev:docs" {
  export const files: Record<string, string>;
}
