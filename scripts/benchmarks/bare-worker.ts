/**
 * The least that a confined worker can be: SES, and a compartment. What `scripts/bench sandbox` compares with. Asked to
 * `load` it answers when it is there; asked for calls it makes so many, by the barest means, and answers.
 */
import "ses";

lockdown({ errorTaming: "safe", consoleTaming: "unsafe", domainTaming: "unsafe", reporting: "none" });
new Compartment({}).evaluate("1 + 1");
const shared = new SharedArrayBuffer(4);
const state = new Int32Array(shared);
let answered: () => void = () => {};

addEventListener("message", async ({ data }) => {
  if (data === "load") return postMessage("ready");
  if (data.answer !== undefined) return answered();
  const { kind, count, path } = data as { kind: string; count: number; path: string };
  const call = kind.split(",")[0];
  for (let i = 0; i < count; i++) {
    if (kind.endsWith("later")) {
      const answer = new Promise<void>((resolve) => {
        answered = resolve;
      });
      postMessage({ call, path });
      await answer;
    } else {
      Atomics.store(state, 0, 0);
      postMessage({ call, path, shared });
      Atomics.wait(state, 0, 0);
    }
  }
  postMessage("done");
});
