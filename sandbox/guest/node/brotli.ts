/** Brotli's decoder: a text of its own, most of which is the format's dictionary. */
export { decompress } from "brotli/decompress.js";
