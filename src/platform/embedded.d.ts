/** A module that scripts/build makes: what gives the texts of sandbox/guest/packages.ts, built, by their names. */
declare module "xdev:guest-sources" {
  export const sources: Record<
    string,
    () => Promise<{ default: import("../../sandbox/guest/packages.ts").GuestSource }>
  >;
}

/** A module that scripts/build makes: what `readDocFiles` of docs.ts gives. */
declare module "xdev:docs" {
  export const files: Record<string, string>;
}
