/**
 * Compiles the program into one executable, `dist/xdev`, for this machine.
 *
 * Usage: scripts/build [--outfile FILE]
 */
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile, WORKERS } from "./compile.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { outfile: { type: "string", default: "dist/xdev" } } });
const outfile = resolve(root, values.outfile);

const start = performance.now();
await mkdir(dirname(outfile), { recursive: true });
await compile(["./src/main.ts", ...WORKERS], outfile);
const megabytes = Math.round(Bun.file(outfile).size / 1e6);
console.log(`built ${outfile} (${megabytes} MB) in ${Math.round(performance.now() - start)} ms`);
