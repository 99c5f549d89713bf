/** OpenAI's protocols, for requests of an extension with a key of its own. */
export * as completions from "@earendil-works/pi-ai/api/openai-completions";
export * as responses from "@earendil-works/pi-ai/api/openai-responses";
