/** Mistral's protocol, for requests of an extension with a key of its own. */
export { stream, streamSimple } from "@earendil-works/pi-ai/api/mistral-conversations";
