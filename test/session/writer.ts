/**
 * A process that works with a session: `writer.ts append DATADIR FILE` adds entries until it is ended and prints the id of each
 * when it is written; `writer.ts fill DATADIR` fills the disk that the data dir is on, makes room, and prints what happened;
 * `writer.ts open DATADIR FILE` prints what memory that takes.
 */
import { readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SessionStore } from "../../src/session/index.ts";
import { assistant, user } from "./support.ts";

const [command, dataDir = "", file = ""] = process.argv.slice(2);

if (command === "append") {
  const store = await SessionStore.open(file, { dataDir });
  for (let n = 0; ; n++) {
    // Now and then one that takes the system more than one page.
    const id = store.append(user(n % 7 === 3 ? "long ".repeat(3000) : `entry ${n}`));
    writeSync(1, `${id}\n`);
  }
}

if (command === "fill") {
  const store = SessionStore.create({ dataDir, cwd: "/work/demo" });
  store.append(user("hello"));
  store.append(assistant("hi"));
  const ballast = join(dataDir, "ballast");
  try {
    for (let size = 1 << 16; size >= 1; size >>= 1) {
      try {
        for (;;) writeFileSync(ballast, "x".repeat(size), { flag: "a" });
      } catch {
        // No room for that many: fewer.
      }
    }
    const lost = Array.from({ length: 5 }, (_, n) => store.append(user(`full ${n} ${"y".repeat(3000)}`)));
    const problems = [...store.problems];
    const inMemory = store.buildContext().messages.length;
    const other = await SessionStore.open(store.file!, { dataDir, access: "read" });
    const onDisk = { entries: other.entryCount, problems: [...other.problems] };
    rmSync(ballast);
    const last = store.append(assistant("room again"));
    store.close();
    const again = await SessionStore.open(store.file!, { dataDir });
    const found = [...lost, last].filter((id) => again.getEntry(id)).length;
    console.log(JSON.stringify({ problems, inMemory, onDisk, found, after: again.problems }));
  } finally {
    rmSync(ballast, { force: true });
  }
}

if (command === "open") {
  // Peak memory, as the kernel has seen it, of a process that does nothing else.
  const store = await SessionStore.open(file, { dataDir, access: "read" });
  const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))!;
  const last = store.getEntry(store.leafId!)?.type;
  console.log(JSON.stringify({ entries: store.entryCount, last, peakMb: Number(peak) / 1024 }));
}
