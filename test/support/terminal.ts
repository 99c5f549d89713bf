/** The compiled program on a terminal of its own (python's pty). */
import { spawn } from "node:child_process";
import { XDEV } from "./xdev.ts";

/**
 * Runs the program on a terminal of its own, and types a line each time that one of the questions ends the output: again and
 * again until it goes on, since what is typed too soon does not count. Gives what stood on the terminal.
 */
export async function onTerminal(
  args: readonly string[],
  env: Record<string, string>,
  answers: readonly (readonly [question: string, line: string])[],
): Promise<{ status: number; screen: string }> {
  const script = `
import json, os, pty, select, sys
program, args, env, answers = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    os.execve(program, [program] + args, env)
screen, seen = b"", 0
while True:
    ready, _, _ = select.select([fd], [], [], 0.05)
    if ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data: break
        screen += data
    elif answers:
        question, line = answers[0]
        at = screen.find(question.encode(), seen)
        if at >= 0:
            mark = len(screen)
            os.write(fd, line.encode())
            while True:
                ready, _, _ = select.select([fd], [], [], 0.15)
                if ready:
                    try:
                        screen += os.read(fd, 65536)
                    except OSError:
                        break
                    # More than the echo of what was typed: it went on.
                    if screen[mark:].replace(b"\\r", b"").replace(line.encode(), b"").replace(b"^D\\b\\b", b"").strip(): break
                else:
                    os.write(fd, line.encode())
            seen = mark
            answers = answers[1:]
_, status = os.waitpid(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), screen.decode("utf8", "replace")]))
`;
  const input = JSON.stringify([XDEV, args, { PATH: process.env.PATH, TMPDIR: "/tmp", ...env }, answers]);
  const child = spawn("python3", ["-c", script, input], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  const [status, screen] = JSON.parse(output) as [number, string];
  return { status, screen: screen.replaceAll("\r\n", "\n") };
}
