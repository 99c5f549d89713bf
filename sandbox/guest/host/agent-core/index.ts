/** `pi-agent-core` as a guest module: the package's own loop, over the guest's `pi-ai`. What it asks a model, the host asks. */
import { setDefaultStreamFn } from "@earendil-works/pi-agent-core";
import { streamSimple } from "@earendil-works/pi-ai/compat";

setDefaultStreamFn(streamSimple);

export * from "@earendil-works/pi-agent-core";
