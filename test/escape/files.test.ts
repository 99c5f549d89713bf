/** Files that an extension was not granted: by every function, by every spelling, by links, and by races. */
import { type Attempt, attempts, DATA_DIR_GUARDS } from "./harness.ts";

const NOTE = `
  const fs = await load("fs");
  const got = [];
  const text = (v) => ArrayBuffer.isView(v) ? new TextDecoder().decode(v) : (JSON.stringify(v) ?? String(v));
  const note = (how, v) => got.push(how + ": " + text(v));
  const tried = [];
  const all = async (name, ...args) => {
    for (const [how, f] of [["sync", fs[name + "Sync"]], ["promise", fs.promises[name]]]) {
      if (typeof f !== "function") continue;
      tried.push(how);
      try { note(how + " " + name, await f(...args)); } catch {}
    }
    if (typeof fs[name] === "function") {
      tried.push("callback");
      await new Promise((done) => { try { fs[name](...args, (e, v) => { if (!e) note("callback " + name, v); done(); }); } catch { done(); } });
    }
  };
  const told = () => tried.length === 0 ? "there is no such function" : got.join("; ") || "nothing";`;

/** Each function with a place that it lacks; \`C\` is the canary, \`D\` its folder, \`O\` a file of one's own. */
const CALLS: readonly [name: string, args: string][] = [
  ["readFile", "C"],
  ["readFile", "C, 'utf8'"],
  ["readFile", "C, { encoding: 'utf8', flag: 'r+' }"],
  ["open", "C, 'r'"],
  ["open", "D, 'r'"],
  ["open", "D + '/new', 'w'"],
  ["writeFile", "C, 'x'"],
  ["writeFile", "D + '/new', 'x'"],
  ["writeFile", "C, '', { flag: 'a' }"],
  ["appendFile", "C, 'x'"],
  ["copyFile", "C, O + '.copy'"],
  ["copyFile", "O, C"],
  ["copyFile", "O, D + '/new'"],
  ["cp", "C, O + '.copy', {}"],
  ["cp", "D, O + '.folder', { recursive: true }"],
  ["cp", "O, D + '/new', {}"],
  ["rename", "C, O + '.moved'"],
  ["rename", "O, C"],
  ["rename", "D, O + '.folder'"],
  ["link", "C, O + '.link'"],
  ["link", "O, D + '/new'"],
  ["symlink", "O, D + '/new'"],
  ["unlink", "C"],
  ["rm", "C, { force: false }"],
  ["rm", "D, { recursive: true }"],
  ["rmdir", "D"],
  ["readdir", "D"],
  ["readdir", "D, { withFileTypes: true }"],
  ["readdir", "D + '/..', { recursive: true }"],
  ["opendir", "D"],
  ["stat", "C"],
  ["lstat", "C"],
  ["access", "C"],
  ["realpath", "C"],
  ["readlink", "D + '/../link-out'"],
  ["mkdir", "D + '/new'"],
  ["mkdir", "D + '/a/b/c', { recursive: true }"],
  ["mkdtemp", "D + '/new'"],
  ["truncate", "C, 0"],
  ["chmod", "C, 0o777"],
  ["utimes", "C, 1, 1"],
  ["lutimes", "C, 1, 1"],
  ["statfs", "C"],
];

const calls: Attempt[] = CALLS.map(([name, args]) => [
  `fs.${name}(${args.replaceAll("C", "canary").replaceAll("D", "folder").replaceAll("O", "own")}) does nothing in any form`,
  `${NOTE}
   const C = target.canary, D = target.folder, O = target.cwd + "/own.txt";
   await all("${name}", ${args});
   return told();`,
]);

attempts("every function of fs, with a place that it lacks", [
  ...calls,
  [
    "existsSync tells nothing of a file that may not be read",
    "const fs = await load('fs'); return fs.existsSync(target.canary) === fs.existsSync(target.canary + 'x') ? 'nothing' : 'it is there';",
  ],
  [
    "createReadStream reads nothing",
    "const fs = await load('fs'); return new Promise((done) => { const s = fs.createReadStream(target.canary); s.on('data', (d) => done('read ' + d)); s.on('error', () => done('nothing')); });",
  ],
  [
    "createWriteStream writes nothing",
    "const fs = await load('fs'); return new Promise((done) => { const s = fs.createWriteStream(target.folder + '/new'); s.on('error', () => done('nothing')); s.on('finish', () => done('wrote')); s.end('x'); });",
  ],
  [
    "watch tells nothing of a folder",
    "const fs = await load('fs'); return new Promise((done) => { try { const w = fs.watch(target.folder, () => done('event')); w.on('error', () => done('nothing')); setTimeout(() => done('watched'), 200); } catch { done('nothing'); } });",
  ],
  [
    "a descriptor that was never given opens nothing",
    "const fs = await load('fs'); const got = []; for (let fd = 0; fd < 64; fd++) { try { fs.readSync(fd, new Uint8Array(8)); got.push(fd); } catch {} try { fs.writeSync(fd, 'x'); if (fd > 2) got.push(fd); } catch {} try { fs.fstatSync(fd); got.push(fd); } catch {} try { fs.closeSync(fd); if (fd > 2) got.push(fd); } catch {} } return got.join() || 'nothing';",
  ],
  [
    "descriptors that are no numbers of its own are refused",
    "const fs = await load('fs'); const got = []; for (const fd of [-1, 1.5, NaN, 2 ** 31, 2 ** 53, '3', {}, [], null, -0, Infinity]) try { fs.readSync(fd, new Uint8Array(8)); got.push(fd); } catch {} return got.join() || 'nothing';",
  ],
]);

/** Paths that lead to the canary, for who has only the project's folder. */
const SPELLINGS: readonly [what: string, path: string][] = [
  ["..", "target.cwd + '/../guarded/canary.txt'"],
  ["many ..", "target.cwd + '/a/../b/../../guarded/./canary.txt'"],
  [".. from the working folder", "'../guarded/canary.txt'"],
  ["a doubled slash", "target.canary.replaceAll('/', '//')"],
  ["a slash at the end", "target.canary + '/'"],
  ["a NUL byte", "target.cwd + '/\\0/../../guarded/canary.txt'"],
  ["a NUL byte at the end", "target.canary + '\\0.txt'"],
  ["a Buffer", "Buffer.from(target.canary)"],
  ["bytes", "new TextEncoder().encode(target.canary)"],
  ["a file URL", "new URL('file://' + target.canary)"],
  ["a file URL with dots that are encoded", "new URL('file://' + target.cwd + '/%2e%2e/guarded/canary.txt')"],
  ["a file URL with a slash that is encoded", "new URL('file://' + target.cwd + '/..%2fguarded/canary.txt')"],
  ["a file URL with a host", "new URL('file://localhost' + target.canary)"],
  [
    "an object that looks like a URL",
    "({ href: 'file://' + target.canary, protocol: 'file:', pathname: target.canary, hostname: '', host: '', search: '', hash: '', __proto__: URL.prototype })",
  ],
  ["/proc/self/root", "'/proc/self/root' + target.canary"],
  ["/proc/self/cwd", "'/proc/self/cwd/../' + target.canary"],
  ["/proc/thread-self/root", "'/proc/thread-self/root' + target.canary"],
  ["/dev/fd", "'/dev/fd/../..' + target.canary"],
  ["a link", "target.cwd + '/link'"],
  ["a link with a slash", "target.cwd + '/link/'"],
  ["a relative link", "target.cwd + '/relative'"],
  ["a link to a link", "target.cwd + '/chain'"],
  ["a linked folder", "target.cwd + '/linked/canary.txt'"],
  [".. behind a linked folder", "target.cwd + '/linked/../guarded/canary.txt'"],
  ["a link to the root", "target.cwd + '/root' + target.canary"],
  ["a link to /proc/self/root", "target.cwd + '/proc' + target.canary"],
  ["a tilde", "'~/../guarded/canary.txt'"],
  ["a variable", "'$HOME/.ssh/id_ed25519'"],
  ["a wild card", "target.folder + '/*'"],
];

const spellings: Attempt[] = SPELLINGS.map(([what, path]) => [
  `${what} leads to no file outside of what is granted`,
  `${NOTE}
   const path = ${path};
   await all("readFile", path);
   await all("writeFile", path, "changed");
   await all("appendFile", path, "changed");
   await all("truncate", path, 0);
   await all("chmod", path, 0o600);
   await all("copyFile", path, target.cwd + "/copy");
   return got.filter((one) => !/(readFile|writeFile|appendFile|truncate|chmod)/.test(one) || /canary-/.test(one)).join("; ") || "nothing";`,
]);

attempts(
  "spellings and links, with the project granted",
  [
    [
      "what is granted can be used",
      "const fs = await load('fs'); fs.writeFileSync(target.cwd + '/mine', 'x'); return fs.readFileSync('mine', 'utf8');",
      /^value: x$/,
    ],
    ...spellings,
    [
      "a link that the extension makes itself leads nowhere",
      "const fs = await load('fs'); try { fs.symlinkSync(target.canary, target.cwd + '/made'); } catch {} return fs.readFileSync(target.cwd + '/made', 'utf8');",
    ],
    [
      "a link to a folder that the extension makes itself leads nowhere",
      "const fs = await load('fs'); try { fs.symlinkSync('../guarded', target.cwd + '/made2'); } catch {} fs.writeFileSync(target.cwd + '/made2/new', 'x');",
    ],
    [
      "a hard link to a file outside is not made",
      "const fs = await load('fs'); fs.linkSync(target.canary, target.cwd + '/hard'); return fs.readFileSync(target.cwd + '/hard', 'utf8');",
    ],
    [
      "a hard link to a link is not made to what it leads to",
      "const fs = await load('fs'); fs.linkSync(target.cwd + '/link', target.cwd + '/hard2'); return fs.readFileSync(target.cwd + '/hard2', 'utf8');",
    ],
    [
      "removing a folder with a link in it removes nothing behind it",
      "const fs = await load('fs'); fs.mkdirSync(target.cwd + '/gone'); try { fs.symlinkSync(target.folder, target.cwd + '/gone/out'); } catch {} fs.rmSync(target.cwd + '/gone', { recursive: true, force: true }); return 'nothing';",
    ],
    [
      "removing through a link removes nothing",
      "const fs = await load('fs'); fs.rmSync(target.cwd + '/linked/', { recursive: true, force: true }); return 'nothing';",
    ],
    [
      "copying a folder with links copies nothing behind them",
      "const fs = await load('fs'); try { fs.cpSync(target.cwd, target.cwd + '/../tmp/copy', { recursive: true, dereference: true }); } catch {} try { fs.cpSync(target.cwd + '/linked', target.cwd + '/copied', { recursive: true, dereference: true }); } catch {} return fs.readFileSync(target.cwd + '/copied/canary.txt', 'utf8');",
    ],
    [
      "renaming the granted folder's parent moves nothing",
      "const fs = await load('fs'); fs.renameSync(target.folder, target.cwd + '/taken');",
    ],
    [
      "a recursive list does not follow links",
      "const fs = await load('fs'); const names = fs.readdirSync(target.cwd, { recursive: true }).map(String); return names.some((n) => /linked\\/|root\\/./.test(n)) ? names.join() : 'nothing';",
    ],
    [
      "chmod through a link changes nothing",
      "const fs = await load('fs'); fs.chmodSync(target.cwd + '/link', 0o777);",
    ],
    [
      "an open file does not become another by a rename",
      "const fs = await load('fs'); fs.writeFileSync(target.cwd + '/swap', 'mine'); const fd = fs.openSync(target.cwd + '/swap', 'r+'); fs.unlinkSync(target.cwd + '/swap'); try { fs.symlinkSync(target.canary, target.cwd + '/swap'); } catch {} fs.ftruncateSync(fd, 0); fs.writeSync(fd, 'x'); fs.closeSync(fd); return 'nothing';",
    ],
  ],
  {
    granted: { read: ["$CWD"], write: ["$CWD"] },
    links: {
      "project/link": "../guarded/canary.txt",
      "project/relative": "./../guarded/../guarded/canary.txt",
      "project/chain": "link",
      "project/linked": "../guarded",
      "project/root": "/",
      "project/proc": "/proc/self/root",
    },
  },
);

/** The extension uses a name for a while, whose meaning another process changes all the time. */
function races(): Attempt[] {
  const race = (use: string): string => `
    const fs = await load("fs");
    const { writeFile, rename, readFile, unlink, rm, copyFile, truncate, appendFile, readdir, chmod } = fs.promises;
    const at = target.cwd, got = [];
    let uses = 0, hits = 0;
    const end = Date.now() + 400;
    const use = async () => { while (Date.now() < end) { uses++; try { ${use} hits++; } catch {} } };
    await Promise.all([use(), use(), use()]);
    return got.find((text) => /^canary/.test(text)) ?? (uses < 5 ? "too slow: " + uses : "nothing");`;
  return [
    [
      "a name that becomes a link between check and use reads nothing outside",
      race(`got.push(await readFile(at + "/x", "utf8"));`),
    ],
    [
      "a name that becomes a link between check and use writes nothing outside",
      race(`await writeFile(at + "/x", "changed");`),
    ],
    [
      "a name that becomes a link is not truncated, changed or appended to",
      race(
        `await truncate(at + "/x", 0); await appendFile(at + "/x", "changed"); await chmod(at + "/x", 0o600);`,
      ),
    ],
    [
      "a copy follows no link that appears",
      race(`await copyFile(at + "/x", at + "/copy"); got.push(await readFile(at + "/copy", "utf8"));`),
    ],
    [
      "a folder that becomes a link between check and use reads nothing outside",
      race(`got.push(await readFile(at + "/d/canary.txt", "utf8"));`),
    ],
    [
      "a folder that becomes a link between check and use writes nothing outside",
      race(`await writeFile(at + "/d/new.txt", "changed");`),
    ],
    [
      "a folder that becomes a link is not removed from outside",
      race(`await unlink(at + "/d/canary.txt"); await rm(at + "/d", { recursive: true });`),
    ],
    [
      "a folder that becomes a link is not listed",
      race(
        `got.push(...(await readdir(at + "/d")).filter((n) => n === "canary.json").map((n) => "canary " + n));`,
      ),
    ],
    [
      "a folder that becomes a link takes no file by rename",
      race(`await writeFile(at + "/r", "x"); await rename(at + "/r", at + "/d/renamed.txt");`),
    ],
    [
      "a folder that becomes a link gives no file by rename",
      race(
        `await rename(at + "/d/canary.txt", at + "/stolen"); got.push(await readFile(at + "/stolen", "utf8"));`,
      ),
    ],
  ];
}

attempts("names that another program changes between check and use", races(), {
  granted: { read: ["$CWD"], write: ["$CWD"] },
  links: { "project/out": "../guarded/canary.txt", "project/outdir": "../guarded" },
  files: { "project/own": "mine", "project/mine/canary.txt": "mine" },
  // In turn a link to the outside and a file or folder of one's own, each for some microseconds.
  beside: `
    const { renameSync, writeFileSync, mkdirSync } = require("node:fs");
    const pass = () => { for (let end = performance.now() + Math.random() * 0.3; performance.now() < end; ); };
    const move = (from, to) => { try { renameSync(from, to); } catch {} };
    const make = (run) => { try { run(); } catch {} };
    for (let i = 0; ; i++) {
      for (const [kept, name] of [["out", "x"], ["own", "x"], ["outdir", "d"], ["mine", "d"]]) {
        move(kept, name); pass(); move(name, kept);
      }
      make(() => writeFileSync("own", "mine", { flag: "wx" }));
      make(() => mkdirSync("mine"));
      make(() => writeFileSync("mine/canary.txt", "mine", { flag: "wx" }));
    }`,
});

attempts(
  "the agent's data dir, with everything granted",
  [
    [
      "everything is granted but this",
      "const fs = await load('fs'); return fs.readFileSync(target.canary, 'utf8').length > 10;",
      /^value: true$/,
    ],
    [
      "its own storage it has",
      "const fs = await load('fs'); fs.writeFileSync(target.dataDir + '/storage/attacker/x', 'y'); return fs.readFileSync(target.dataDir + '/storage/attacker/x', 'utf8');",
      /^value: y$/,
    ],
    ...[
      ["credentials", "target.dataDir + '/credentials.json'"],
      ["grants", "target.dataDir + '/permissions.json'"],
      ["the bundle cache", "target.dataDir + '/cache/bundle.json'"],
      ["another extension's storage", "target.victimStorage + '/state.json'"],
      [".. behind its own storage", "target.dataDir + '/storage/attacker/../victim/state.json'"],
      ["/proc/self/root", "'/proc/self/root' + target.dataDir + '/credentials.json'"],
      ["another case", "target.dataDir.replace(/data$/, 'DATA') + '/credentials.json'"],
      ["a trailing dot", "target.dataDir + './credentials.json'"],
    ].map(
      ([what, path]): Attempt => [
        `${what}: not read, written or linked`,
        `${NOTE}
      const path = ${path};
      await all("readFile", path); await all("writeFile", path, "x"); await all("unlink", path); await all("copyFile", path, target.cwd + "/c");
      await all("link", path, target.cwd + "/l" + Math.random()); await all("rename", path, target.cwd + "/r"); await all("chmod", path, 0o666); await all("stat", path);
      try { fs.symlinkSync(path, target.cwd + "/s"); } catch {}
      await all("readFile", target.cwd + "/s");
      return got.join("; ") || "nothing";`,
      ],
    ),
    ["the data dir is not listed", "const fs = await load('fs'); return fs.readdirSync(target.dataDir);"],
    [
      "the folder of all storages is not listed",
      "const fs = await load('fs'); return fs.readdirSync(target.dataDir + '/storage');",
    ],
    [
      "a recursive list of its parent names nothing in it",
      "const fs = await load('fs'); return fs.readdirSync(target.dataDir + '/..', { recursive: true }).map(String).filter((n) => /credentials|state\\.json/.test(n)).join() || 'nothing';",
    ],
    [
      "a recursive copy of its parent copies nothing of it",
      "const fs = await load('fs'); const parent = target.dataDir + '/..'; for (const name of fs.readdirSync(parent)) { try { fs.cpSync(parent + '/' + name, target.cwd + '/copy/' + name, { recursive: true }); } catch {} } try { fs.cpSync(target.dataDir, target.cwd + '/all', { recursive: true }); } catch {} return fs.readFileSync(target.cwd + '/all/credentials.json', 'utf8');",
    ],
    [
      "a recursive watch of its parent tells nothing of it",
      "const fs = await load('fs'); const seen = []; let w; try { w = fs.watch(target.dataDir + '/..', { recursive: true }, (e, n) => seen.push(String(n))); w.on('error', () => {}); } catch {} fs.writeFileSync(target.dataDir + '/storage/attacker/w', 'y'); await new Promise((r) => setTimeout(r, 100)); w?.close(); return seen.filter((n) => /credentials|victim|permissions/.test(n)).join() || 'nothing';",
    ],
    [
      "it is not renamed",
      "const fs = await load('fs'); fs.renameSync(target.dataDir, target.dataDir + '2');",
    ],
    [
      "another folder is not put in its place",
      "const fs = await load('fs'); fs.mkdirSync(target.cwd + '/fake'); fs.renameSync(target.cwd + '/fake', target.dataDir);",
    ],
    [
      "another file is not put in a secret's place",
      "const fs = await load('fs'); fs.writeFileSync(target.cwd + '/p', '{}'); fs.renameSync(target.cwd + '/p', target.dataDir + '/permissions.json');",
    ],
    [
      "a file is not made in it",
      "const fs = await load('fs'); fs.writeFileSync(target.dataDir + '/trust.json', '{}');",
    ],
    [
      "its own storage is no link to another's",
      "const fs = await load('fs'); fs.rmSync(target.dataDir + '/storage/attacker', { recursive: true, force: true }); try { fs.symlinkSync(target.victimStorage, target.dataDir + '/storage/attacker'); } catch {} return fs.readFileSync(target.dataDir + '/storage/attacker/state.json', 'utf8');",
    ],
    [
      "a link within its own storage leads to no other's",
      "const fs = await load('fs'); fs.mkdirSync(target.dataDir + '/storage/attacker', { recursive: true }); try { fs.symlinkSync('../victim', target.dataDir + '/storage/attacker/v'); } catch {} return fs.readFileSync(target.dataDir + '/storage/attacker/v/state.json', 'utf8');",
    ],
    [
      "its parent is not renamed",
      "const fs = await load('fs'); const parent = target.dataDir.replace(/\\/data$/, ''); fs.renameSync(parent, parent + '-moved');",
    ],
    [
      "removing its parent leaves it",
      "const fs = await load('fs'); fs.rmSync(target.dataDir + '/..', { recursive: true, force: true }); return 'nothing';",
    ],
  ],
  { granted: { read: ["*"], write: ["*"] }, guards: DATA_DIR_GUARDS },
);
