/** What `@sinclair/typebox` has besides its builders, together: its parts share a policy and a function for errors. */
export * as compiler from "@sinclair/typebox/compiler";
export * as errors from "@sinclair/typebox/errors";
export * as system from "@sinclair/typebox/system";
export * as type from "@sinclair/typebox/type";
export * as value from "@sinclair/typebox/value";
