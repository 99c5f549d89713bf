/**
 * `node:os`. What tells of this machine or its user is asked from the host when it is called, and takes the permission `sys`;
 * the rest is what every machine of the kind has.
 */
import { about, callSync } from "xdev:system";
import { unsupported } from "./errors.ts";
import { signals } from "./signals.ts";
import { systemErrors } from "./system_errors.ts";

interface Cpu {
  model: string;
  speed: number;
  times: Record<"user" | "nice" | "sys" | "idle" | "irq", number>;
}
interface CpuState {
  cpus: Cpu[];
  parallelism: number;
  load: number[];
}
interface MemoryState {
  total: number;
  free: number;
  uptime: number;
}
interface User {
  username: string;
  uid: number;
  gid: number;
  shell: string | null;
}

const isWindows = about.platform === "win32";

export const EOL: string = isWindows ? "\r\n" : "\n";
export const devNull: string = isWindows ? "\\\\.\\nul" : "/dev/null";

export const platform = (): string => about.platform;
export const arch = (): string => about.arch;
export const machine = (): string =>
  about.arch === "x64"
    ? "x86_64"
    : about.arch === "arm64" && about.platform === "linux"
      ? "aarch64"
      : about.arch;
export const type = (): string =>
  about.platform === "darwin"
    ? "Darwin"
    : isWindows
      ? "Windows_NT"
      : about.platform === "linux"
        ? "Linux"
        : "Unix";
export const release = (): string => "0.0.0";
export const version = (): string => "";
export const endianness = (): string => "LE";
export const tmpdir = (): string => about.tmp;
export const homedir = (): string => about.home;

export const hostname = (): string => callSync<string>("sys.hostname", {}).value;

const cpu = (): CpuState => callSync<CpuState>("sys.cpu", {}).value;
export const cpus = (): Cpu[] => cpu().cpus;
export const availableParallelism = (): number => cpu().parallelism;
export const loadavg = (): number[] => cpu().load;

const memory = (): MemoryState => callSync<MemoryState>("sys.memory", {}).value;
export const totalmem = (): number => memory().total;
export const freemem = (): number => memory().free;
export const uptime = (): number => memory().uptime;

export function userInfo(options?: { encoding?: string }) {
  const { username, uid, gid, shell } = callSync<User>("sys.user", {}).value;
  const user = { uid, gid, username, homedir: about.home, shell };
  if (options?.encoding !== "buffer") return user;
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text));
  return { uid, gid, username: bytes(username), homedir: bytes(about.home), shell: bytes(shell) };
}

/** An extension is told of no address. */
export const networkInterfaces = (): Record<string, never> => ({});
export const getPriority = (): number => 0;
export const setPriority = (): never => {
  throw unsupported("os.setPriority()");
};

const errno: Record<string, number> = {};
for (const [number, [name]] of systemErrors) if (number > -4000) errno[name] = -number;

export const constants = {
  UV_UDP_REUSEADDR: 4,
  dlopen: {},
  errno,
  signals,
  priority: {
    PRIORITY_LOW: 19,
    PRIORITY_BELOW_NORMAL: 10,
    PRIORITY_NORMAL: 0,
    PRIORITY_ABOVE_NORMAL: -7,
    PRIORITY_HIGH: -14,
    PRIORITY_HIGHEST: -20,
  },
};

export default {
  EOL,
  devNull,
  platform,
  arch,
  machine,
  type,
  release,
  version,
  endianness,
  tmpdir,
  homedir,
  hostname,
  cpus,
  availableParallelism,
  loadavg,
  totalmem,
  freemem,
  uptime,
  userInfo,
  networkInterfaces,
  getPriority,
  setPriority,
  constants,
};
