/** Programs, variables and facts of the system that an extension was not granted. */
import { type Attempt, attempts } from "./harness.ts";

const ALL = `
  const c = await load("child_process");
  const got = [];
  const forms = (command, file, args, options = {}) => [
    ["execSync", () => String(c.execSync(command, options))],
    ["execFileSync", () => String(c.execFileSync(file, args, options))],
    ["spawnSync", () => { const r = c.spawnSync(file, args, options); if (r.error) throw r.error; return "status " + r.status + r.stdout + r.stderr; }],
    ["exec", () => new Promise((done, fail) => c.exec(command, options, (e, out, err) => (e ? fail(e) : done(out + err))))],
    ["execFile", () => new Promise((done, fail) => c.execFile(file, args, options, (e, out, err) => (e ? fail(e) : done(out + err))))],
    ["spawn", () => new Promise((done, fail) => { const p = c.spawn(file, args, options); let out = ""; p.stdout?.on("data", (d) => { out += d; }); p.stderr?.on("data", (d) => { out += d; }); p.on("error", fail); p.on("close", (code) => done("status " + code + out)); })],
  ];
  const all = async (...given) => { for (const [name, run] of forms(...given)) try { got.push(name + ": " + (await run())); } catch {} };`;

const TOUCH = "'touch ' + target.folder + '/new', 'touch', [target.folder + '/new']";

attempts("programs, with nothing granted", [
  [
    "no form of child_process starts a program",
    `${ALL} await all(${TOUCH}); return got.join("; ") || "nothing";`,
  ],
  [
    "a shell of one's own choice starts nothing",
    `${ALL} await all('touch ' + target.folder + '/new', '/bin/sh', ['-c', 'touch ' + target.folder + '/new'], { shell: '/bin/sh' }); return got.join("; ") || "nothing";`,
  ],
  [
    "fork starts nothing",
    "const c = await load('child_process'); const p = c.fork(target.folder + '/x.js'); return await new Promise((done) => { p.on('error', () => done('nothing')); p.on('exit', (code) => done('ran ' + code)); });",
  ],
  [
    "process.execPath names no program that can be started",
    `${ALL} const path = process.execPath || "/proc/self/exe"; await all(path + " -e 1", path, ["-e", "1"]); return got.join("; ") || "nothing";`,
  ],
  [
    "process.kill signals nothing",
    "const got = []; for (const pid of [process.pid, process.ppid, 1, 0, -1]) try { process.kill(pid, 0); got.push(pid); } catch {} return got.filter((p) => p !== process.pid).join() || 'nothing';",
  ],
  ["process.exit ends nothing but the extension", "process.exit(0);", /^(denied: |error: )/],
  ["process.abort ends nothing but the extension", "process.abort();", /^(denied: |error: )/],
  ["process.chdir changes no folder of the agent", "try { process.chdir('/'); } catch {} return 'nothing';"],
  ["process.umask changes nothing of the agent", "try { process.umask(0); } catch {} return 'nothing';"],
  [
    "process.setuid and others are not there",
    "return ['setuid', 'setgid', 'setgroups', 'initgroups', 'seteuid', 'setegid', '_kill', '_debugProcess', 'reallyExit', 'openStdin'].filter((n) => { try { return typeof process[n] === 'function' && process[n](0) !== undefined; } catch { return false; } }).join() || 'nothing';",
  ],
  [
    "process.stdout writes nothing to the user's terminal",
    "const { isTTY } = process.stdout ?? {}; process.stdout?.write?.('x'); return isTTY ? 'a terminal' : 'nothing';",
  ],
  [
    "process.stdin reads nothing of the user's",
    "return new Promise((done) => { const s = process.stdin; if (!s?.on) return done('nothing'); s.on('data', (d) => done('read ' + d)); s.on('error', () => done('nothing')); s.on('end', () => done('nothing')); s.resume?.(); setTimeout(() => done('nothing'), 100); });",
  ],
]);

attempts("the environment and the system, with nothing granted", [
  [
    "process.env has no variable of the user's",
    "return Object.keys(process.env).join() + (process.env[target.variable] ?? '') + (process.env.PATH ?? '') === '' ? 'nothing' : JSON.stringify(process.env);",
  ],
  [
    "a variable by its name is not told",
    "return [process.env[target.variable], Reflect.get(process.env, target.variable), Object.getOwnPropertyDescriptor(process.env, target.variable)?.value].every((x) => x === undefined) ? 'nothing' : 'told';",
  ],
  [
    "a variable that the extension sets reaches no program and no agent",
    "process.env.XDEV_POISON = '1'; process.env.LD_PRELOAD = '/x'; return 'nothing';",
  ],
  ["the environment's prototype tells nothing", "return chase(Object.getPrototypeOf(process.env));"],
  [
    "import.meta.env and Bun.env are not there",
    "return [typeof Bun, typeof Deno].join();",
    /^value: undefined,undefined$/,
  ],
  [
    "os tells nothing that needs sys",
    "const os = await load('os'); const got = []; for (const n of ['hostname', 'userInfo', 'cpus', 'networkInterfaces', 'totalmem', 'freemem', 'loadavg', 'uptime']) try { const v = JSON.stringify(os[n]()); if (!['[]', '{}', '0', '[0,0,0]', '\"localhost\"', '1'].includes(v)) got.push(n + v); } catch {} return got.join() || 'nothing';",
  ],
  [
    "process tells nothing of the agent",
    "return [process.argv?.join(' '), process.title, process.argv0, process.execArgv?.join(' '), process.execPath].filter((x) => /xdev-test|bun test|deno|node_modules/.test(String(x))).join() || 'nothing';",
  ],
  [
    "process.report, memoryUsage and resourceUsage tell no path of the agent",
    "const got = []; for (const f of [() => process.report?.getReport?.(), () => process.config, () => process.versions, () => process.release]) try { const v = JSON.stringify(f()) ?? ''; if (/\\/work|\\/home|bunfs/.test(v)) got.push(v.slice(0, 99)); } catch {} return got.join() || 'nothing';",
  ],
]);

/** Ways from a program that is granted to one that is not. */
const GRANTED_LS: Attempt[] = [
  [
    "the program that is granted runs",
    "const c = await load('child_process'); return c.execFileSync('ls', ['/']).length > 0;",
    /^value: true$/,
  ],
  [
    "a command line for a shell is none without one",
    `${ALL} await all("ls /; touch " + target.folder + "/new", "ls", ["/; touch " + target.folder + "/new"]); return got.filter((t) => !/^(spawn|spawnSync): status [12]/.test(t)).join("; ") || "nothing";`,
  ],
  [
    "substitutions in a command line are none",
    `${ALL} for (const t of ["$(touch " + target.folder + "/new)", "\`touch " + target.folder + "/new\`", "& touch " + target.folder + "/new", "| touch " + target.folder + "/new", "\\n touch " + target.folder + "/new", "> " + target.folder + "/new", "<(touch " + target.folder + "/new)"]) await all("ls " + t, "ls", [t]); return "nothing";`,
  ],
  [
    "shell: true starts no shell",
    `${ALL} await all("ls && touch " + target.folder + "/new", "ls && touch " + target.folder + "/new", [], { shell: true }); return got.join("; ") || "nothing";`,
  ],
  [
    "a PATH of one's own finds no program of one's own",
    `${ALL} await all("ls", "ls", [], { env: { PATH: target.cwd + "/bin" } }); return got.filter((t) => /planted/.test(t)).join("; ") || "nothing";`,
  ],
  [
    "a program of the granted name in the working folder is not the one",
    `${ALL} await all("./ls", "./ls", [], { cwd: target.cwd + "/bin" }); await all(target.cwd + "/bin/ls", target.cwd + "/bin/ls", []); return got.join("; ") || "nothing";`,
  ],
  [
    "a link of the granted name to another program is not the one",
    `${ALL} await all(target.cwd + "/links/ls " + target.folder + "/new", target.cwd + "/links/ls", [target.folder + "/new"]); return got.join("; ") || "nothing";`,
  ],
  [
    "argv0 names no other program",
    `${ALL} await all("ls", "ls", ["/"], { argv0: "touch", env: { LD_PRELOAD: target.cwd + "/x.so", LD_LIBRARY_PATH: target.cwd, BASH_ENV: target.cwd + "/bin/ls" } }); return got.filter((t) => /planted/.test(t)).join("; ") || "nothing";`,
  ],
  [
    "a NUL byte ends no argument early",
    `${ALL} await all("ls\\0touch", "ls\\0/../touch", ["/\\0", target.folder + "/new"]); return got.join("; ") || "nothing";`,
  ],
  [
    "an inherited stream is not the agent's",
    `${ALL} const p = c.spawnSync("ls", ["/"], { stdio: "inherit" }); const q = c.spawnSync("ls", ["/"], { stdio: [0, 1, 2, 3, 4, 5] }); return "nothing";`,
  ],
  [
    "uid and gid are not taken",
    `${ALL} await all("ls", "ls", ["/"], { uid: 0, gid: 0, detached: true, windowsVerbatimArguments: true }); return "nothing";`,
  ],
  [
    "the working folder is one that may be read",
    `${ALL} await all("ls", "ls", [], { cwd: target.folder }); return got.filter((t) => /canary/.test(t)).join("; ") || "nothing";`,
  ],
];

attempts("programs, with `ls` granted", GRANTED_LS, {
  granted: { run: ["ls"], read: ["$CWD"], write: ["$CWD"] },
  files: { "project/bin/ls": "#!/bin/sh\necho planted\n" },
  executable: ["project/bin/ls"],
  links: { "project/links": "bin", "project/bin/touch": "/usr/bin/touch" },
});

attempts(
  "programs, with `printenv` granted",
  [
    [
      "a granted program is not given the user's environment",
      "const c = await load('child_process'); const r = c.spawnSync('printenv', []); return /XDEV_ESCAPE_CANARY/.test(String(r.stdout)) ? 'the variable' : 'nothing';",
    ],
    [
      "a granted program is given no variable that was asked for by its name",
      "const c = await load('child_process'); const r = c.spawnSync('printenv', [target.variable], { env: { ...process.env } }); return String(r.stdout) === '' ? 'nothing' : 'the variable';",
    ],
  ],
  { granted: { run: ["printenv"] } },
);

attempts(
  "programs, with `git status` granted",
  [
    [
      "leading arguments are the first ones",
      `${ALL} await all("git -c alias.x='!touch " + target.folder + "/new' x", "git", ["-c", "alias.x=!touch " + target.folder + "/new", "x"]); await all("git -c core.pager='touch " + target.folder + "/new' status", "git", ["-c", "core.fsmonitor=touch " + target.folder + "/new", "status"]); await all("git -C . status", "git", ["-C", ".", "status"]); return got.join("; ") || "nothing";`,
    ],
    [
      "no environment makes it run another program",
      `${ALL} for (const name of ["GIT_PAGER", "PAGER", "GIT_EDITOR", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_ASKPASS"]) await all("git status", "git", ["status"], { env: { [name]: "touch " + target.folder + "/new" } }); await all("git status", "git", ["status"], { env: { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.fsmonitor", GIT_CONFIG_VALUE_0: "touch " + target.folder + "/new" } }); return "nothing";`,
    ],
    [
      "another subcommand is another program",
      `${ALL} await all("git clone /x", "git", ["clone", "/x"]); await all("git statusx", "git", ["statusx"]); return got.join("; ") || "nothing";`,
    ],
  ],
  { granted: { run: ["git status"] } },
);
