/** Which guest is ended for what memory: the watch, with a process and guests of the test's making. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MemoryWatch } from "../../../sandbox/host/memory.ts";
import type { GuestWorker } from "../../../src/platform/index.ts";

const MB = 1024 * 1024;

/** A process of which the test says how large it is, and guests that answer or do not. */
function stage() {
  const size = { resident: 100 * MB, own: 10 * MB, busy: 0 };
  const watch = new MemoryWatch(
    () => size.resident,
    () => size.own,
    () => size.busy,
  );
  const guest = (limit = 64 * MB) => {
    let listener: (message: unknown) => unknown = () => {};
    const asked: number[] = [];
    const ended: string[] = [];
    const worker: GuestWorker = {
      post: (message) => {
        if (Array.isArray(message) && message[0] === "ping") asked.push(message[1]);
      },
      onMessage: (given) => {
        listener = given;
      },
      onExit: () => {},
      terminate: async () => {},
    };
    const guarded = watch.guard(worker, { maxHeapBytes: limit });
    guarded.onMessage(() => {});
    guarded.onExit((reason) => ended.push(reason));
    const says = (message: unknown) => void listener(message);
    says(["pong", 0, 8 * MB]);
    return {
      guarded,
      says,
      asked,
      ended,
      answer: (heap: number, busy = 0) => says(["pong", asked.at(-1), heap, busy]),
    };
  };
  return { size, watch, guest };
}

describe("the watch on memory", () => {
  test("nobody is asked while the process does not grow", () => {
    const { size, watch, guest } = stage();
    const one = guest();
    watch.look(0);
    size.resident += 7 * MB;
    watch.look(100);
    size.resident -= 50 * MB;
    watch.look(200);
    size.resident += 7 * MB;
    watch.look(300);
    assert.deepEqual(one.asked, []);
  });

  test("the one whose heap has grown by more than its limit is ended, and says so; the others are not", () => {
    const { size, watch, guest } = stage();
    const [one, two, large] = [guest(), guest(), guest(500 * MB)];
    size.resident += 100 * MB;
    watch.look(0);
    one.answer(71 * MB);
    two.answer(73 * MB);
    large.answer(300 * MB);
    assert.deepEqual(one.ended, []);
    assert.deepEqual(two.ended, ["used more than 64 MB of memory (extensionHost.maxHeapBytes)"]);
    assert.deepEqual(large.ended, []);
  });

  test("one that does not answer while the process grows is ended; one that does not answer while it does not is left alone", () => {
    const { size, watch, guest } = stage();
    const busy = guest();
    size.resident += 10 * MB;
    watch.look(0);
    assert.equal(busy.asked.length, 1);
    for (let at = 100; at < 3000; at += 100) watch.look(at);
    assert.deepEqual(busy.ended, []);
    size.resident += 65 * MB;
    watch.look(3000);
    assert.equal(busy.ended.length, 1);
  });

  test("what the agent itself has more is nobody's", () => {
    const { size, watch, guest } = stage();
    const busy = guest();
    size.resident += 10 * MB;
    watch.look(0);
    size.resident += 100 * MB;
    size.own += 90 * MB;
    watch.look(1000);
    assert.deepEqual(busy.ended, []);
  });

  test("one that grows very fast is not waited for", () => {
    const { size, watch, guest } = stage();
    const busy = guest();
    size.resident += 10 * MB;
    watch.look(0);
    size.resident += 100 * MB;
    watch.look(100);
    assert.deepEqual(busy.ended, []);
    size.resident += 200 * MB;
    watch.look(200);
    assert.equal(busy.ended.length, 1);
  });

  test("one that waits for a system call is not the one that grows", () => {
    const { size, watch, guest } = stage();
    const waiting = guest();
    const busy = guest();
    waiting.says(["call", 0, "run.exec", "{}", undefined]);
    size.resident += 10 * MB;
    watch.look(0);
    size.resident += 80 * MB;
    watch.look(1000);
    assert.deepEqual([waiting.ended.length, busy.ended.length], [0, 1]);
    waiting.guarded.post(["return", 0, { text: "1" }]);
    watch.look(1100);
    assert.deepEqual(waiting.ended, []);
  });

  test("of several that do not answer the one that was asked first goes, when there is more than all of them may have", () => {
    const { size, watch, guest } = stage();
    const first = guest();
    size.resident += 10 * MB;
    watch.look(0);
    const second = guest();
    size.resident += 10 * MB;
    watch.look(100);
    size.resident += 100 * MB;
    watch.look(1000);
    assert.deepEqual([first.ended.length, second.ended.length], [0, 0]);
    size.resident += 20 * MB;
    watch.look(1100);
    assert.deepEqual([first.ended.length, second.ended.length], [1, 0]);
    watch.look(1500);
    assert.deepEqual(second.ended, []);
    size.resident += 80 * MB;
    watch.look(2000);
    assert.equal(second.ended.length, 1);
  });

  test("what is in no heap is put down to the one that worked meanwhile, and four times its limit is too much", () => {
    const { size, watch, guest } = stage();
    const [quiet, busy] = [guest(), guest()];
    for (let step = 1; step <= 10; step++) {
      size.resident += 30 * MB;
      size.busy += 1;
      watch.look(step * 100);
      quiet.answer(8 * MB, step);
      busy.answer(9 * MB, step * 20);
      // Nine steps are looked at when the tenth begins.
      assert.deepEqual([quiet.ended.length, busy.ended.length], [0, step === 10 ? 1 : 0], `${step}`);
    }
  });

  test("what is in no heap is nobody's if nobody worked enough to fill it, or the host did more", () => {
    const { size, watch, guest } = stage();
    const [one, two] = [guest(), guest()];
    for (let step = 1; step <= 20; step++) {
      size.resident += 30 * MB;
      if (step > 10) size.busy += 30;
      watch.look(step * 100);
      one.answer(8 * MB, step > 10 ? step * 20 : step);
      two.answer(8 * MB, 0);
    }
    assert.deepEqual([one.ended.length, two.ended.length], [0, 0]);
  });

  test("one that has not booted is asked nothing, and one that has ended is forgotten", async () => {
    const { size, watch, guest } = stage();
    const one = guest();
    await one.guarded.terminate();
    size.resident += 100 * MB;
    watch.look(0);
    assert.deepEqual(one.asked, []);
  });
});
