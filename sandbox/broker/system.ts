/** What the machine and its user are called, what they have, and single variables of the environment. */
import { availableParallelism, cpus, freemem, hostname, loadavg, totalmem, uptime, userInfo } from "node:os";
import * as v from "valibot";
import { type Operations, operation } from "./broker.ts";

const nothing = v.object({});

export const systemOperations: Operations = {
  "sys.hostname": operation({
    params: nothing,
    async run(_, { rights }) {
      await rights.demand({ kind: "sys", what: "hostname" });
      return { value: hostname() };
    },
  }),

  /** `{username, uid, gid, shell}`; -1 and null where the system has no such thing. */
  "sys.user": operation({
    params: nothing,
    async run(_, { rights, env }) {
      await rights.demand({ kind: "sys", what: "user" });
      try {
        const { username, uid, gid, shell } = userInfo();
        return { value: { username, uid, gid, shell } };
      } catch {
        // A user without an entry: containers run as any number.
        const uid = process.getuid?.() ?? -1;
        const value = { username: env.USER ?? String(uid), uid, gid: process.getgid?.() ?? -1, shell: null };
        return { value };
      }
    },
  }),

  /** `{cpus: [{model, speed}], parallelism, load: [1, 5, 15 minutes]}`. */
  "sys.cpu": operation({
    params: nothing,
    async run(_, { rights }) {
      await rights.demand({ kind: "sys", what: "cpu" });
      const list = cpus().map(({ model, speed, times }) => ({ model, speed, times }));
      return { value: { cpus: list, parallelism: availableParallelism(), load: loadavg() } };
    },
  }),

  /** `{total, free}` in bytes, and `uptime` of the machine in seconds. */
  "sys.memory": operation({
    params: nothing,
    async run(_, { rights }) {
      await rights.demand({ kind: "sys", what: "memory" });
      return { value: { total: totalmem(), free: freemem(), uptime: uptime() } };
    },
  }),

  /** The value of a variable, or null if it is not set. It may be a secret: it goes to the extension and nowhere else. */
  "env.get": operation({
    params: v.object({ name: v.pipe(v.string(), v.minLength(1), v.maxLength(1000)) }),
    async run({ name }, { rights, env }) {
      await rights.demand({ kind: "env", name });
      return { value: (Object.hasOwn(env, name) ? env[name] : undefined) ?? null };
    },
  }),
};
