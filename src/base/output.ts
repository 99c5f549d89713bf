/**
 * Standard output and standard error. The runtime's streams cost a start 3 ms and 6 MB when they are first touched, so a
 * text is written to the descriptor itself until something needs a stream: output that goes on for long, or a reader
 * that does not keep up.
 */
import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { systemCode } from "./errors.ts";

export type OutputName = "stdout" | "stderr";

const descriptors = { stdout: 1, stderr: 2 } as const;
const streams: Partial<Record<OutputName, NodeJS.WriteStream>> = {};
let readerGone = (): void => {};

/** Whom to tell that nobody reads standard output any more (`xdev … | head`). */
export function onReaderGone(listener: () => void): void {
  readerGone = listener;
}

export function isTerminal(name: OutputName): boolean {
  return isatty(descriptors[name]);
}

/** Writes a text in the order of the calls. Never throws; standard error that nobody reads is nobody's loss. */
export function print(name: OutputName, text: string): void {
  const open = streams[name];
  if (open) return void open.write(text);
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(descriptors[name], bytes, written);
  } catch (error) {
    if (systemCode(error) === "EAGAIN") outputStream(name).write(bytes.subarray(written));
    else if (name === "stdout") readerGone();
  }
}

/** The stream, for output that goes on for long: it does not keep the event loop waiting for its reader. */
export function outputStream(name: OutputName): NodeJS.WriteStream {
  const known = streams[name];
  if (known) return known;
  const stream = process[name];
  stream.on("error", () => {
    if (name === "stdout") readerGone();
  });
  streams[name] = stream;
  return stream;
}

/** Resolves when everything that was written has reached the system. */
export async function flushOutput(): Promise<void> {
  await Promise.all(
    Object.values(streams).map(
      (stream) =>
        new Promise<void>((resolve) => {
          if (stream.destroyed || stream.writableEnded) return resolve();
          stream.once("error", () => resolve());
          stream.write("", () => resolve());
        }),
    ),
  );
}
