/** What typebox has besides its builders, together: values are checked with the formats and settings that were set in another part. */
export * as compile from "typebox/compile";
export * as error from "typebox/error";
export * as format from "typebox/format";
export * as guard from "typebox/guard";
export * as schema from "typebox/schema";
export * as system from "typebox/system";
export * as type from "typebox/type";
export * as value from "typebox/value";
