package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

var tools = json.RawMessage(`[{
	"name": "my_plugin_tool",
	"description": "Does something useful.",
	"params_hint": "input (required)",
	"parameters": {
		"type": "object",
		"properties": { "input": { "type": "string", "description": "What to work on" } },
		"required": ["input"],
		"examples": [{ "input": "hello" }]
	}
}]`)

type message struct {
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	CallID string         `json:"call_id"`
	Params map[string]any `json:"params"`
}

// run does the work of a tool. Its error becomes the call's error.
func run(name string, params map[string]any) (string, error) {
	if name != "my_plugin_tool" {
		return "", fmt.Errorf("unknown tool: %s", name)
	}
	input, _ := params["input"].(string)
	return "Processed: " + input, nil
}

func main() {
	// stdout is for messages only: log to stderr.
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 10_000_000)
	for in.Scan() {
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		switch m.Type {
		case "init":
			out.Encode(map[string]any{"type": "init", "tools": tools})
		case "call":
			text, err := run(m.Name, m.Params)
			if err != nil {
				text = err.Error()
			}
			content := []map[string]string{{"type": "text", "text": text}}
			out.Encode(map[string]any{"type": "result", "call_id": m.CallID, "content": content, "is_error": err != nil})
		}
	}
}
