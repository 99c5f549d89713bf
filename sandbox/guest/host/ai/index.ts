/** `pi-ai` as a guest module: its helpers, and model calls that the host makes. */
export { StringEnum } from "@earendil-works/pi-ai/utils/string-enum";
export { Type } from "typebox";
