/** `Stats`, `BigIntStats`, `StatFs` and `Dirent`. */
import { constants } from "./fs_constants.ts";

/** What the broker gives: numbers and times in ns as decimal text. */
export type StatData = Readonly<Record<string, string | number>>;

const NUMBERS = ["dev", "nlink", "uid", "gid", "rdev", "blksize", "ino", "size", "blocks"] as const;
const TIMES = ["atime", "mtime", "ctime", "birthtime"] as const;

abstract class AnyStats {
  declare mode: number | bigint;

  #is(type: string): boolean {
    return (Number(this.mode) & (constants.S_IFMT as number)) === constants[type];
  }
  isFile(): boolean {
    return this.#is("S_IFREG");
  }
  isDirectory(): boolean {
    return this.#is("S_IFDIR");
  }
  isSymbolicLink(): boolean {
    return this.#is("S_IFLNK");
  }
  isFIFO(): boolean {
    return this.#is("S_IFIFO");
  }
  isSocket(): boolean {
    return this.#is("S_IFSOCK");
  }
  isCharacterDevice(): boolean {
    return this.#is("S_IFCHR");
  }
  isBlockDevice(): boolean {
    return this.#is("S_IFBLK");
  }
}

type Values = Record<string, number | bigint | Date>;

function setTimes(stats: Values): void {
  for (const name of TIMES) stats[name] = new Date(Math.round(Number(stats[`${name}Ms`])));
}

export class Stats extends AnyStats {
  constructor(data: StatData) {
    super();
    const own = this as unknown as Values;
    own.mode = Number(data.mode);
    for (const name of NUMBERS) own[name] = Number(data[name]);
    for (const name of TIMES) {
      const ns = BigInt(data[`${name}Ns`] ?? 0);
      own[`${name}Ms`] = Number(ns / 1_000_000n) + Number(ns % 1_000_000n) / 1e6;
    }
    setTimes(own);
  }
}

export class BigIntStats extends AnyStats {
  constructor(data: StatData) {
    super();
    const own = this as unknown as Values;
    own.mode = BigInt(data.mode ?? 0);
    for (const name of NUMBERS) own[name] = BigInt(data[name] ?? 0);
    for (const name of TIMES) {
      const ns = BigInt(data[`${name}Ns`] ?? 0);
      own[`${name}Ns`] = ns;
      own[`${name}Ms`] = ns / 1_000_000n;
    }
    setTimes(own);
  }
}

export const makeStats = (data: StatData, bigint: unknown): Stats | BigIntStats =>
  bigint ? new BigIntStats(data) : new Stats(data);

export class StatFs {
  constructor(data: Readonly<Record<string, number>>, bigint: unknown) {
    for (const [name, value] of Object.entries(data)) {
      (this as unknown as Values)[name] = bigint ? BigInt(value) : value;
    }
  }
}

export class Dirent {
  readonly name: string | Buffer;
  readonly parentPath: string;
  readonly path: string;
  readonly #type: string;

  constructor(name: string | Buffer, parentPath: string, type: string) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#type = type;
  }
  isFile(): boolean {
    return this.#type === "file";
  }
  isDirectory(): boolean {
    return this.#type === "dir";
  }
  isSymbolicLink(): boolean {
    return this.#type === "link";
  }
  isFIFO(): boolean {
    return this.#type === "fifo";
  }
  isSocket(): boolean {
    return this.#type === "socket";
  }
  isCharacterDevice(): boolean {
    return this.#type === "char";
  }
  isBlockDevice(): boolean {
    return this.#type === "block";
  }
}
