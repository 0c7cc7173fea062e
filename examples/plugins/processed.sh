#!/usr/bin/env bash
# Reads messages from stdin and writes messages to stdout, one JSON object a line. Log to stderr.

tools='[{
  "name": "my_plugin_tool",
  "description": "Does something useful.",
  "params_hint": "input (required)",
  "parameters": {
    "type": "object",
    "properties": { "input": { "type": "string", "description": "What to work on" } },
    "required": ["input"],
    "examples": [{ "input": "hello" }]
  }
}]'

# The work of a tool: its result on stdout. Another exit code than 0 makes it the call's error.
run() {
  local name=$1 params=$2
  case $name in
    my_plugin_tool) echo "Processed: $(jq -r .input <<<"$params")" ;;
    *) echo "unknown tool: $name"; return 1 ;;
  esac
}

while IFS= read -r message; do
  case $(jq -r .type <<<"$message") in
    init) jq -cn --argjson tools "$tools" '{type: "init", $tools}' ;;
    call)
      error=false
      text=$(run "$(jq -r .name <<<"$message")" "$(jq -c .params <<<"$message")") || error=true
      jq -c --arg text "$text" --argjson error "$error" \
        '{type: "result", call_id, content: [{type: "text", $text}], is_error: $error}' <<<"$message"
      ;;
  esac
done
