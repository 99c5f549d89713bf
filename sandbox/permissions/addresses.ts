/**
 * Hosts in one form, and which addresses are the public internet's. What must hold: however a host is written (decimal,
 * octal, hexadecimal, upper case, with dots behind it, in another script), it is compared in the form that a connection
 * would use; and an address that is not known to be public is not.
 */

/** Loaded when an address is looked at: the command line comes by here, and `node:net` costs a start 4 ms. */
const isIPv4 = (text: string): boolean => process.getBuiltinModule("node:net").isIPv4(text);
const isIPv6 = (text: string): boolean => process.getBuiltinModule("node:net").isIPv6(text);

/**
 * A host's only form: a name in lower case ASCII without a dot at its end, an IPv4 address in decimal, an IPv6 address
 * compressed and without brackets. One that stands for an IPv4 address (`::ffff:…`) becomes that. Undefined for what is no
 * host: user information, ports, zones, empty labels, characters that no name has.
 */
export function canonicalHost(host: string): string | undefined {
  if (host.length > 1000 || host === "" || /[\s/?#@\\%<>^|]/.test(host)) return undefined;
  const inner = /^\[([^[\]]*)\]$/.exec(host)?.[1] ?? (isIPv6(host) ? host : undefined);
  if (inner === undefined && /[:[\]]/.test(host)) return undefined;
  if (inner !== undefined && !isIPv6(inner)) return undefined;
  let name: string;
  try {
    // The parser that `fetch` uses: what it makes of a host is what would be connected to.
    name = new URL(`http://${inner === undefined ? host : `[${inner}]`}/`).hostname;
  } catch {
    return undefined;
  }
  if (name.startsWith("[")) {
    const address = name.slice(1, -1);
    return mappedIPv4(address) ?? address;
  }
  name = name.replace(/\.$/, "");
  if (isIPv4(name)) return name;
  const isName =
    name.length <= 253 &&
    name.split(".").every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label));
  // A last label of digits only would be a part of an address.
  return isName && !/(?:^|\.)\d+$/.test(name) ? name : undefined;
}

/** Whether a canonical host is an address and not a name. */
export function isAddress(host: string): boolean {
  return isIPv4(host) || isIPv6(host);
}

/** Names that mean this machine or this network by convention. */
const LOCAL_SUFFIXES = [
  "localhost",
  "local",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "home.arpa",
];

/** Whether a canonical host is a name that can be on the public internet: it has a dot, and no local suffix. */
export function isPublicName(host: string): boolean {
  if (isAddress(host) || !host.includes(".")) return false;
  return !LOCAL_SUFFIXES.some((suffix) => host.endsWith(`.${suffix}`));
}

/** 127.0.0.0/8 and ::1. */
export function isLoopback(address: string): boolean {
  const canonical = canonicalHost(address);
  return (
    canonical !== undefined && (canonical === "::1" || (isIPv4(canonical) && canonical.startsWith("127.")))
  );
}

/**
 * Whether an address is one of the public internet. Loopback, link-local, private, shared, metadata, multicast, documentation
 * and reserved ones are not; one that carries an IPv4 address is judged by that; text that is no address is not.
 */
export function isPublicAddress(address: string): boolean {
  const canonical = canonicalHost(address);
  if (canonical === undefined) return false;
  if (isIPv4(canonical)) return isPublicIPv4(canonical);
  return isIPv6(canonical) && isPublicIPv6(groupsOf(canonical));
}

/** Prefix and its length in bits. */
const NOT_PUBLIC_IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8], // this network; 0.0.0.0 connects to this machine
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // shared by a provider's customers
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // a cloud's machine service
  ["169.254.0.0", 16], // link-local, metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

function isPublicIPv4(address: string): boolean {
  const number = numberOf(address);
  return !NOT_PUBLIC_IPV4.some(
    ([prefix, bits]) => number >>> (32 - bits) === numberOf(prefix) >>> (32 - bits),
  );
}

function numberOf(address: string): number {
  return address.split(".").reduce((number, part) => ((number << 8) | Number(part)) >>> 0, 0);
}

function isPublicIPv6(groups: readonly number[]): boolean {
  const [a, b, c, d, e, f] = groups as [number, number, number, number, number, number];
  const embedded = ipv4At(groups, 6);
  // 64:ff9b::/96, by which a network without IPv4 reaches it.
  if (a === 0x64 && b === 0xff9b) return [c, d, e, f].every((group) => group === 0) && isPublicIPv4(embedded);
  // Of the rest only 2000::/3 is assigned.
  if (a >> 13 !== 1) return false;
  // Teredo, ORCHID, benchmarks and other assignments: 2001::/23. 6to4: 2002::/16.
  if ((a === 0x2001 && b < 0x200) || a === 0x2002) return false;
  // Documentation: 2001:db8::/32, 3fff::/20.
  if ((a === 0x2001 && b === 0xdb8) || (a === 0x3fff && b < 0x1000)) return false;
  // ISATAP carries an IPv4 address behind this mark.
  if ((e & 0xfdff) === 0 && f === 0x5efe) return isPublicIPv4(embedded);
  return true;
}

/** The IPv4 address of ::ffff:0:0/96. */
function mappedIPv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? ipv4At(groups, 6) : undefined;
}

function ipv4At(groups: readonly number[], index: number): string {
  const [high, low] = [groups[index]!, groups[index + 1]!];
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

/** The eight groups of a valid IPv6 address in the form that URL gives. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [front, back] = [parse(head), tail === undefined ? [] : parse(tail)];
  return [...front, ...new Array(8 - front.length - back.length).fill(0), ...back];
}
