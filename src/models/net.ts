/** Whether a host name or address (as in a URL, brackets allowed) is this machine's loopback. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Whether a URL points to this machine's loopback; false for what is no URL. */
export function isLoopbackUrl(url: string): boolean {
  try {
    return isLoopbackHost(new URL(url).hostname);
  } catch {
    return false;
  }
}

/** What makes an address unfit as a base URL, or undefined. */
export function urlProblem(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "not a URL: write it with http:// or https://";
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return `${url.protocol} is not http: or https:`;
  if (url.username || url.password) return "a key does not belong into the address: use apiKey or headers";
  return undefined;
}
