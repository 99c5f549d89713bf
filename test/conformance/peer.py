"""A peer that does what its script says (script.ts). The script is the .json file beside it."""

import base64
import json
import os
import signal
import sys
import time

with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", encoding="utf-8") as file:
    SCRIPT = json.load(file)

waiting = []  # frames that came while another one was waited for
counts = {}  # events so far, by name
held = {}


def read():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None


def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def fill(text, event):
    if event:
        payload = event.get("payload") or {}
        for name, value in (
            ("$id", event["id"]),
            ("$number", int(event["id"])),
            ("$callId", payload.get("callId")),
            ("$arguments", payload.get("arguments")),
        ):
            text = text.replace(json.dumps(name), json.dumps(value))
    return text


def send(step, event):
    text = fill(json.dumps(step["send"]), event)
    if "size" in step:
        text = text[:-1] + ', "pad": ""}'
        text = text[:-2] + "x" * (step["size"] - len(text)) + text[-2:]
    write((text + step.get("lineEnd", "\n")).encode())


def wait_for(kind):
    while True:
        frame = read()
        if frame is None:
            sys.exit(0)
        if frame["type"] == kind:
            return
        waiting.append(frame)


def fork(session):
    pid = os.fork()
    if pid == 0:
        if session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(0)
        time.sleep(600)
        os._exit(0)
    print("pid", pid, file=sys.stderr, flush=True)


def hold(event, count, rest):
    events = held.setdefault(event["event"], [])
    events.append(event)
    if len(events) < count:
        return
    for index in range(count):
        run(rest, events[index * 7919 % count])
    events.clear()


def run(steps, event=None):
    for index, step in enumerate(steps):
        if "send" in step:
            send(step, event)
        elif "text" in step:
            write(fill(step["text"], event).encode())
        elif "base64" in step:
            data = base64.b64decode(step["base64"])
            size = step.get("chunk", len(data))
            for start in range(0, len(data), size):
                write(data[start : start + size])
        elif "sleepMs" in step:
            time.sleep(step["sleepMs"] / 1000)
        elif "exit" in step:
            os._exit(step["exit"])
        elif "hang" in step:
            while True:
                time.sleep(600)
        elif "log" in step:
            print(step["log"], file=sys.stderr, flush=True)
        elif "await" in step:
            wait_for(step["await"])
        elif "hold" in step:
            hold(event, step["hold"], steps[index + 1 :])
            return
        elif "signal" in step:
            os.kill(os.getpid(), getattr(signal, step["signal"]))
        elif "ignore" in step:
            signal.signal(getattr(signal, step["ignore"]), signal.SIG_IGN)
        elif "close" in step:
            os.close(1)
        elif "fork" in step:
            fork(step["fork"] == "session")
        elif "waitFor" in step:
            while not os.path.exists(step["waitFor"]):
                time.sleep(0.002)
        else:
            raise ValueError(step)


run(SCRIPT.get("start", []))
while True:
    frame = waiting.pop(0) if waiting else read()
    if frame is None:
        break
    if frame["type"] == "hello" and SCRIPT.get("capabilities", {}) is not None:
        run([{"send": {"type": "capabilities", "payload": SCRIPT.get("capabilities", {})}}])
    elif frame["type"] == "event":
        name = frame["event"]
        plans = SCRIPT.get("on", {}).get(name, [[{"send": {"type": "response", "id": "$id", "allow": True}}]])
        number = counts.get(name, 0)
        counts[name] = number + 1
        run(plans[min(number, len(plans) - 1)], frame)
run(SCRIPT.get("end", []))
