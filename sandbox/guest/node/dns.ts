/** `node:dns`, for packages that import it: names are looked up by the host, after it has judged them. */
import { refused } from "./refused.ts";

const WHY = "extensions can't look up names: fetch, http and https do it for them";

export const lookup = refused("dns.lookup", WHY);
export const resolve = refused("dns.resolve", WHY);
export const resolve4 = refused("dns.resolve4", WHY);
export const resolve6 = refused("dns.resolve6", WHY);
export const Resolver = refused("dns.Resolver", WHY);
export const promises = { lookup, resolve, resolve4, resolve6, Resolver };
export const setDefaultResultOrder = (): void => {};

export default { lookup, resolve, resolve4, resolve6, Resolver, promises, setDefaultResultOrder };
