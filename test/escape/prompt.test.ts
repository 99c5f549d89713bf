/** Questions to the user: their text, their time, and what happens while he thinks. */
import assert from "node:assert/strict";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { describe, test } from "node:test";
import type { Asker, Question } from "../../sandbox/permissions/asker.ts";
import { declarationOf } from "../../sandbox/permissions/declaration.ts";
import { COLUMNS, LINES } from "../../sandbox/permissions/describe.ts";
import { widthOf } from "../../sandbox/permissions/display.ts";
import { type Dialog, dialogUser } from "../../sandbox/permissions/prompt.ts";
import { Arena, type ArenaOptions, LEVELS } from "./harness.ts";

/** What could change a screen: controls, and characters that are invisible or change the direction. */
const DANGEROUS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const TRICKS = [
  "\u001b[2J\u001b[1;1H",
  "\u001b]0;title\u0007",
  "\u001b]8;;http://evil/\u001b\\link\u001b]8;;\u001b\\",
  "\u009b2J",
  "\r[o]nce: o",
  "\nExtension good wants to read a file\n",
  "\u202egnp.txt",
  "\u2066\u2067\u2069",
  "\u200b\u200d\ufeff\u00ad",
  "\u0007\u0008\u0008\u0008",
  "\u2028\u2029\u0085",
  " ".repeat(300),
  "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306",
  "\u{e0041}\u{e0042}",
  "\u3164\u115f\u2800",
];

/** A dialog that never answers, or answers what `answer` says, and keeps what was on the screen. */
function screen(answer?: () => string): Dialog & { text: string } {
  return {
    text: "",
    write(text) {
      this.text += text;
    },
    readLine(signal) {
      if (answer) {
        // As the terminal does with the Enter key.
        this.text += "\n";
        return Promise.resolve(answer());
      }
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
    },
  };
}

function assertHarmless(text: string): void {
  for (const line of text.split("\n")) {
    assert.doesNotMatch(line, DANGEROUS);
    assert.ok(widthOf(line) <= 2 * COLUMNS, `a line of ${widthOf(line)} columns`);
  }
}

async function inArena(
  level: "worker" | "host",
  options: ArenaOptions,
  use: (arena: Arena) => Promise<void>,
): Promise<void> {
  const arena = await Arena.open(level, options);
  try {
    await use(arena);
    await arena.check();
  } finally {
    await arena.close();
  }
}

for (const level of LEVELS) {
  describe(`a question at the point of use (${level})`, () => {
    test("shows no control, no hidden character and no line of the extension's, whatever the path, host, program or variable", async () => {
      const dialog = screen(() => "d");
      const tricks = JSON.stringify(TRICKS);
      for (const use of [
        `const fs = await load("fs"); for (const t of T) try { fs.readFileSync(target.cwd + "/" + t.replaceAll("/", "_")); } catch {}`,
        `const fs = await load("fs"); for (const t of T) try { fs.writeFileSync("/tmp/" + t.replaceAll("/", "_"), "x"); } catch {}`,
        `for (const t of T) for (const url of ["http://" + t + ".example/", "http://example.com/" + t, "http://xn--" + t + "/"]) try { await fetch(url); } catch {}`,
        `const c = await load("child_process"); for (const t of T) try { c.spawnSync("ls", [t]); } catch {}`,
        `const c = await load("child_process"); for (const t of T) try { c.spawnSync(t, []); } catch {}`,
        `for (const t of T) void process.env[t];`,
      ]) {
        await inArena(level, { asker: dialogUser(dialog) }, async (arena) => {
          await arena.attempt(`const T = ${tricks}; ${use} return "nothing";`);
        });
      }
      assert.match(dialog.text, /Extension attacker wants to/);
      assertHarmless(dialog.text);
      // Each question begins with our own words; none of the extension's begins a line.
      assert.doesNotMatch(dialog.text, /^Extension good/m);
    });

    test("names a host that only looks like another by its ASCII form", async () => {
      const dialog = screen(() => "d");
      await inArena(level, { asker: dialogUser(dialog) }, async (arena) => {
        await arena.attempt("try { await fetch('http://\u0430pple.com/'); } catch {} return 'nothing';");
      });
      assert.match(dialog.text, /xn--pple-43d\.com/);
    });

    test("that nobody answers is a no", async () => {
      const asker = dialogUser(screen(), { loadMs: 100, useMs: 100 });
      await inArena(level, { asker }, async (arena) => {
        assert.match(
          await arena.attempt("return (await load('fs')).readFileSync(target.canary, 'utf8');"),
          /^error: .*EACCES/,
        );
      });
    });

    test("asked a thousand times is asked a few times", async () => {
      const asked: Question[] = [];
      const asker: Asker = {
        ask: async (question) => {
          asked.push(question);
          return "deny";
        },
      };
      await inArena(level, { asker }, async (arena) => {
        await arena.attempt(
          "const fs = await load('fs'); for (let i = 0; i < 200; i++) try { fs.readFileSync(target.canary + i); } catch {} await Promise.allSettled(Array.from({ length: 200 }, (_, i) => fs.promises.readFile(target.folder + '/x' + i))); return 'nothing';",
        );
      });
      assert.ok(asked.length <= 25, `asked ${asked.length} times`);
    });

    for (const [what, answer] of [
      ["no answer that there is", "sometimes" as never],
      ["nothing", undefined as never],
      ["an error", new Error("x") as never],
    ] as const) {
      test(`that is answered by ${what} is a no`, async () => {
        const asker: Asker = {
          ask: async () => {
            if ((answer as unknown) instanceof Error) throw answer;
            return answer;
          },
        };
        await inArena(level, { asker }, async (arena) => {
          assert.match(
            await arena.attempt("return (await load('fs')).readFileSync(target.canary, 'utf8');"),
            /^error: /,
          );
        });
      });
    }

    test("is about the file that it names: a link that is put there while the user thinks is not followed", async () => {
      let arena: Arena | undefined;
      const asker: Asker = {
        ask: async ({ request }) => {
          const path = "path" in request ? request.path : "";
          if (!path.endsWith("asked.txt")) return "deny";
          renameSync(path, `${path}.old`);
          symlinkSync(arena!.target.canary, path);
          return "once";
        },
      };
      await inArena(level, { asker, files: { "other/asked.txt": "mine" } }, async (opened) => {
        arena = opened;
        const told = await opened.attempt(
          "return (await load('fs')).readFileSync(target.folder + '/../other/asked.txt', 'utf8');",
        );
        assert.match(told, /^(error: |value: mine$)/);
      });
    });

    test("is about the folder that it names, too: one that becomes a link is not followed", async () => {
      let arena: Arena | undefined;
      const asker: Asker = {
        ask: async ({ request }) => {
          const path = "path" in request ? request.path : "";
          if (!path.endsWith("other/canary.txt")) return "deny";
          rmSync(`${arena!.folder.path}/other`, { recursive: true });
          symlinkSync(arena!.target.folder, `${arena!.folder.path}/other`);
          return "session";
        },
      };
      await inArena(level, { asker, files: { "other/canary.txt": "mine" } }, async (opened) => {
        arena = opened;
        for (let i = 0; i < 2; i++) {
          assert.match(
            await opened.attempt(
              "const fs = await load('fs'); try { fs.writeFileSync(target.folder + '/../other/canary.txt', 'x'); } catch {} return fs.readFileSync(target.folder + '/../other/canary.txt', 'utf8');",
            ),
            /^error: /,
          );
        }
      });
    });

    test("answered with once is a yes to one use", async () => {
      let asked = 0;
      const asker: Asker = { ask: async () => (asked++ === 0 ? "once" : "deny") };
      await inArena(level, { asker, files: { "other/a.txt": "mine" } }, async (arena) => {
        const told = await arena.attempt(
          "const fs = await load('fs'); const read = (p) => { try { return fs.readFileSync(p, 'utf8'); } catch (e) { return e.code; } }; const p = target.folder + '/../other/a.txt'; return [read(p), read(p), read(target.canary)].join();",
        );
        assert.equal(told, "value: mine,EACCES,EACCES");
      });
    });
  });
}

describe("the question at a load", () => {
  test("shows no control, no hidden character and no line of the author's, whatever he declares", async () => {
    for (const trick of TRICKS) {
      const dialog = screen(() => "d");
      const declaration = declarationOf({
        read: { paths: [`/a/${trick}`, `$CWD/${trick}`], reason: trick },
        write: { paths: [`/${trick}${trick}`], reason: `"${trick}\nAllow? [y/N] y` },
        net: { hosts: ["example.com", `a${trick}.example`], reason: `${trick} needs nothing at all` },
        run: { programs: [`ls ${trick}`], reason: trick.repeat(50) },
        env: [`A${trick}`],
      });
      await dialogUser(dialog).askAtLoad({
        extension: `good${trick}`,
        path: `/x/${trick}.ts`,
        declaration,
        toAsk: declaration.permissions,
        had: {},
        isChanged: false,
        signal: new AbortController().signal,
      });
      assertHarmless(dialog.text);
      assert.ok(dialog.text.split("\n").length <= LINES + 3, "more than a screen");
      assert.match(dialog.text, /^Extension /);
    }
  });

  test("that nobody answers is a no, and nothing is kept", async () => {
    const answer = await dialogUser(screen(), { loadMs: 50, useMs: 50 }).askAtLoad({
      extension: "a",
      path: "/a.ts",
      declaration: declarationOf({ read: ["*"] }),
      toAsk: { read: ["*"] },
      had: {},
      isChanged: false,
      signal: new AbortController().signal,
    });
    assert.equal(answer, undefined);
  });
});
