/** `node:tty`: an extension has no terminal. */
import { unsupported } from "./errors.ts";

export const isatty = (): boolean => false;

export class ReadStream {
  constructor() {
    throw unsupported("tty.ReadStream");
  }
}

export class WriteStream {
  constructor() {
    throw unsupported("tty.WriteStream");
  }
}

export default { isatty, ReadStream, WriteStream };
