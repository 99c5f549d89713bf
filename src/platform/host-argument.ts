/** The first argument with which this program is an extension host (sandbox/host) and nothing else. No user has a use for it. */
export const HOST_ARGUMENT = "--serve-extensions";
