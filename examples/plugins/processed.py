#!/usr/bin/env python3
import json
import sys

TOOLS = [
    {
        "name": "my_plugin_tool",
        "description": "Does something useful.",
        "params_hint": "input (required)",  # for people
        "parameters": {
            "type": "object",
            "properties": {"input": {"type": "string", "description": "What to work on"}},
            "required": ["input"],
            "examples": [{"input": "hello"}],
        },
    }
]


def run(name, params):
    """The work of a tool. What it raises becomes the call's error."""
    if name != "my_plugin_tool":
        raise ValueError(f"unknown tool: {name}")
    return f"Processed: {params['input']}"


def send(message):
    print(json.dumps(message), flush=True)


# stdout is for messages only: log to stderr.
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "init":
        send({"type": "init", "tools": TOOLS})
    elif message["type"] == "call":
        try:
            text, is_error = run(message["name"], message["params"]), False
        except Exception as error:
            text, is_error = str(error), True
        content = [{"type": "text", "text": text}]
        send({"type": "result", "call_id": message["call_id"], "content": content, "is_error": is_error})
