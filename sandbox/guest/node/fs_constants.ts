/** `fs.constants` of the host's platform. */
import { about } from "xdev:system";

const LINUX = {
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_NOCTTY: 0o400,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
  O_DIRECTORY: 0o200000,
  O_NOATIME: 0o1000000,
  O_NOFOLLOW: 0o400000,
  O_SYNC: 0o4010000,
  O_DSYNC: 0o10000,
  O_DIRECT: 0o40000,
  O_NONBLOCK: 0o4000,
};

/** The same flags have other bits on Arm. */
const LINUX_ARM = { ...LINUX, O_DIRECTORY: 0o40000, O_NOFOLLOW: 0o100000, O_DIRECT: 0o200000 };

const DARWIN = {
  O_CREAT: 0x200,
  O_EXCL: 0x800,
  O_NOCTTY: 0x20000,
  O_TRUNC: 0x400,
  O_APPEND: 0x8,
  O_DIRECTORY: 0x100000,
  O_NOFOLLOW: 0x100,
  O_SYNC: 0x80,
  O_DSYNC: 0x400000,
  O_SYMLINK: 0x200000,
  O_NONBLOCK: 0x4,
};

const WINDOWS = { O_CREAT: 0x100, O_EXCL: 0x400, O_TRUNC: 0x200, O_APPEND: 0x8 };

const OPEN: Readonly<Record<string, number>> =
  about.platform === "win32"
    ? WINDOWS
    : about.platform === "darwin"
      ? DARWIN
      : about.arch.startsWith("arm")
        ? LINUX_ARM
        : LINUX;

export const constants: Readonly<Record<string, number>> = {
  UV_FS_SYMLINK_DIR: 1,
  UV_FS_SYMLINK_JUNCTION: 2,
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  UV_DIRENT_UNKNOWN: 0,
  UV_DIRENT_FILE: 1,
  UV_DIRENT_DIR: 2,
  UV_DIRENT_LINK: 3,
  UV_DIRENT_FIFO: 4,
  UV_DIRENT_SOCKET: 5,
  UV_DIRENT_CHAR: 6,
  UV_DIRENT_BLOCK: 7,
  S_IFMT: 0o170000,
  S_IFREG: 0o100000,
  S_IFDIR: 0o040000,
  S_IFCHR: 0o020000,
  S_IFBLK: 0o060000,
  S_IFIFO: 0o010000,
  S_IFLNK: 0o120000,
  S_IFSOCK: 0o140000,
  ...OPEN,
  UV_FS_O_FILEMAP: 0,
  S_IRWXU: 0o700,
  S_IRUSR: 0o400,
  S_IWUSR: 0o200,
  S_IXUSR: 0o100,
  S_IRWXG: 0o070,
  S_IRGRP: 0o040,
  S_IWGRP: 0o020,
  S_IXGRP: 0o010,
  S_IRWXO: 0o007,
  S_IROTH: 0o004,
  S_IWOTH: 0o002,
  S_IXOTH: 0o001,
  F_OK: 0,
  R_OK: 4,
  W_OK: 2,
  X_OK: 1,
  UV_FS_COPYFILE_EXCL: 1,
  COPYFILE_EXCL: 1,
  UV_FS_COPYFILE_FICLONE: 2,
  COPYFILE_FICLONE: 2,
  UV_FS_COPYFILE_FICLONE_FORCE: 4,
  COPYFILE_FICLONE_FORCE: 4,
};
