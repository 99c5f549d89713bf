#!/usr/bin/env python3
"""A policy and a tool: denies `rm -rf` in bash, and tells the time. Needs nothing but Python 3."""
import json
import sys
import time


def send(frame):
    print(json.dumps(frame), flush=True)  # one line, at once


def allows(payload):
    arguments = payload.get("arguments") or {}
    return not (payload.get("tool") == "bash" and "rm -rf" in str(arguments.get("command", "")))


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        send({"type": "capabilities", "payload": {
            "events": ["tool_call"],
            "tools": [{
                "name": "utc_time",
                "description": "The time now, in UTC",
                "parameters": {"type": "object", "properties": {}},
            }],
        }})
    elif frame["type"] == "event":
        answer = {"type": "response", "id": frame["id"]}
        if frame["event"] == "tool_call":
            answer["allow"] = allows(frame["payload"])
            answer["reason"] = "rm -rf is not allowed here"
        elif frame["event"] == "tool_invoke":
            answer["patch"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        send(answer)
