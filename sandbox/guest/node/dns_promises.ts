import { promises } from "./dns.ts";

export const { lookup, resolve, resolve4, resolve6, Resolver } = promises;
export default promises;
