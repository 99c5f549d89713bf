#!/usr/bin/env python3
"""A policy, a tool and a command. It needs nothing but Python 3. The protocol: xdev docs protocol"""
import json
import sys

CAPABILITIES = {
    "events": ["tool_call"],
    "tools": [{
        "name": "count_words",
        "description": "Counts the words of a text",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "the text"}},
            "required": ["text"],
        },
    }],
    "commands": [{"name": "denied", "description": "says how many calls were denied"}],
}

denied = 0


def tool_call(payload):
    """A policy: it is asked before each tool call. If it dies or does not answer, the call is denied."""
    global denied
    arguments = payload.get("arguments") or {}
    if payload.get("tool") == "bash" and "rm -rf" in str(arguments.get("command", "")):
        denied += 1
        return {"allow": False, "reason": "rm -rf is not allowed here"}
    return {"allow": True}


def tool_invoke(payload):
    """A tool: the model may call it. There is one, so its name need not be looked at."""
    words = str(payload["arguments"]["text"]).split()
    return {"patch": {"text": f"{len(words)} words", "isError": False}}


def command(payload):
    """A command: the user writes /ext:denied."""
    return {"patch": {"text": f"{denied} denied"}}


HANDLERS = {"tool_call": tool_call, "tool_invoke": tool_invoke, "command": command}


def send(frame):
    print(json.dumps(frame), flush=True)  # one line, at once; standard error is the log


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        send({"type": "capabilities", "payload": CAPABILITIES})
    elif frame["type"] == "event":
        # Every event has an answer: silence is a time-out, and that denies.
        handler = HANDLERS.get(frame["event"], lambda payload: {})
        send({"type": "response", "id": frame["id"], **handler(frame.get("payload") or {})})
