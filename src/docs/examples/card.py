#!/usr/bin/env python3
"""A tool whose result is shown as a card: the space on the disk that a folder is on."""
import json
import shutil
import sys

RENDERER = {
    "tool": "disk",
    "kind": "card",
    "title": "Disk",
    "fields": [
        {"label": "Folder", "path": "folder"},
        {"label": "Total", "path": "gigabytes.total"},
        {"label": "Free", "path": "gigabytes.free", "style": "green"},
    ],
}
TOOL = {
    "name": "disk",
    "description": "Total and free space on the disk of a folder, in gigabytes",
    "parameters": {
        "type": "object",
        "properties": {"folder": {"type": "string", "description": "an absolute path"}},
        "required": ["folder"],
    },
}


def disk(folder):
    usage = shutil.disk_usage(folder)
    return {"folder": folder, "gigabytes": {"total": usage.total // 10**9, "free": usage.free // 10**9}}


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        # It guards nothing, so its failures should deny nothing.
        answer = {"type": "capabilities", "payload": {"tools": [TOOL], "renderers": [RENDERER], "failOpen": True}}
    elif frame["type"] == "event":
        answer = {"type": "response", "id": frame["id"]}
        try:
            # The model reads this text; the user sees the card that is made of it.
            answer["patch"] = json.dumps(disk(frame["payload"]["arguments"]["folder"]))
        except OSError as error:
            answer["error"] = str(error)
    else:
        continue
    print(json.dumps(answer), flush=True)
