/**
 * The demo of `npm start`: the compiled agent in a scratch folder, with the replay model, a policy process and two sandboxed
 * extensions. Prints what happens and exits with 0 only if all of it really happened.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const examples = join(root, "src", "docs", "examples");
const scratch = await mkdtemp(join(tmpdir(), "xdev-demo-"));

interface Result {
  tool: string;
  text: string;
  isError: boolean;
}

try {
  const work = join(scratch, "work");
  const precious = join(work, "precious");
  await mkdir(precious, { recursive: true });
  const { results, answer, status } = await runAgent(work);
  const has = (tool: string, isError: boolean, text: string) =>
    results.some(
      (result) => result.tool === tool && result.isError === isError && result.text.includes(text),
    );
  const checks: [string, boolean][] = [
    ["a bash call ran", has("bash", false, "hello from the shell")],
    [
      "rm -rf was denied by the policy process, with its reason",
      has("bash", true, "blocked by extension deny-rm: rm -rf is disabled in this project") &&
        existsSync(precious),
    ],
    ["the sandboxed extension's tool answered", has("hello_extension", false, "Hello, world")],
    [
      "an extension without permissions could not read ~/.ssh",
      has("look_around", false, "extension curious may not read") &&
        !results.some(({ text }) => text.includes("id_ed25519")),
    ],
    ["nor open a connection", has("look_around", false, "extension curious may not connect to 127.0.0.1:9")],
    [
      "a file was written and read back",
      has("read", false, "written by the agent") &&
        (await readFile(join(work, "note.txt"), "utf8").catch(() => "")) === "written by the agent\n",
    ],
    ["the run ended well", status === 0 && answer.includes("Everything happened as it should.")],
  ];
  console.log("");
  for (const [what, happened] of checks) console.log(`${happened ? "ok  " : "FAIL"}  ${what}`);
  process.exitCode = checks.every(([, happened]) => happened) ? 0 : 1;
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function runAgent(cwd: string): Promise<{ results: Result[]; answer: string; status: number | null }> {
  const args = ["-p", "Show me what you can do.", "--mode", "json"];
  args.push("--model", `replay:${join(examples, "demo.yml")}`, "--data-dir", join(scratch, "data"));
  for (const name of ["deny-rm.py", "quick-start.ts", "curious.ts"]) args.push("-e", join(examples, name));
  console.log(
    `$ xdev ${args.map((arg) => (/\s/.test(arg) ? `"${arg}"` : arg.replace(`${root}/`, ""))).join(" ")}\n`,
  );

  const home = join(scratch, "home");
  await mkdir(join(home, ".ssh"), { recursive: true });
  await writeFile(join(home, ".ssh", "id_ed25519"), "");
  const child = spawn(join(root, "dist", "xdev"), args, {
    cwd,
    env: { ...process.env, HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const results: Result[] = [];
  let answer = "";
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line);
    if (event.type === "message_end" && event.message.role === "user") {
      console.log(`user:  ${textOf(event.message.content)}`);
    } else if (event.type === "message_end" && event.message.role === "assistant") {
      answer = textOf(event.message.content);
      if (answer) console.log(`model: ${answer}`);
    } else if (event.type === "tool_execution_start") {
      console.log(`call:  ${event.toolName} ${JSON.stringify(event.args)}`);
    } else if (event.type === "message_end" && event.message.role === "toolResult") {
      const { toolName, isError, content } = event.message;
      const text = textOf(content);
      results.push({ tool: toolName, text, isError });
      console.log(`${isError ? "error" : "result"}: ${text.trimEnd().replaceAll("\n", "\n        ")}`);
    }
  }
  return { results, answer, status: await ended };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as { type: string; text?: string }[]).map((item) => item.text ?? "").join("");
}
