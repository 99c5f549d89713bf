/** The helpers of pi-ai that need no provider, as the package has them. */
export * from "@earendil-works/pi-ai";
