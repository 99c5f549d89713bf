#!/usr/bin/env python3
"""A policy that asks the user before `git push`. Where nobody can be asked the answer is no."""
import json
import sys

waiting = {}  # the id of the question: the id of the event that waits for its answer


def send(frame):
    print(json.dumps(frame), flush=True)


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        send({"type": "capabilities", "payload": {"events": ["tool_call"], "features": ["call"]}})
    elif frame["type"] == "event":
        payload = frame["payload"]
        command = str((payload.get("arguments") or {}).get("command", ""))
        if payload.get("tool") == "bash" and "git push" in command:
            question = "push-" + frame["id"]
            waiting[question] = frame["id"]
            send({"type": "call", "id": question, "method": "ui.confirm",
                  "params": {"title": "Push?", "message": command}})
        else:
            send({"type": "response", "id": frame["id"], "allow": True})
    elif frame["type"] == "return":
        # With `error` instead of `result` this denies, too.
        send({"type": "response", "id": waiting.pop(frame["id"]),
              "allow": frame.get("result") is True, "reason": "the user has not agreed to this push"})
