/** One thing that an extension wants to do, as the rights are asked about it. Paths and programs are canonical. */
export type Request =
  /** `written` is the path as the extension wrote it: the error for the extension names that, and no link's target. */
  | { kind: "read" | "write"; path: string; written?: string }
  /** `host` is a name in lower case ASCII, without a trailing dot, or an address in canonical form (IPv6 without brackets). */
  | { kind: "net"; host: string; port: number }
  /**
   * That `address`, which is loopback, link-local, private or otherwise not public, may be connected to: it must be named
   * itself (for loopback also as `localhost`), a name that leads to it does not count.
   */
  | { kind: "net-address"; host: string; address: string; port: number }
  /** `name` is the program as the extension wrote it, `path` what it leads to. */
  | { kind: "run"; name: string; path: string; args: readonly string[] }
  | { kind: "env"; name: string }
  | { kind: "sys"; what: "hostname" | "user" | "cpu" | "memory" }
  | { kind: "model" | "provider" | "wasm" }
  | { kind: "session"; access: "read" | "write" }
  | { kind: "tools"; name: string };
