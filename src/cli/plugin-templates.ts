import type { TemplateFile } from "./new-folder.ts";
import type { LANGUAGES } from "./options.ts";

/** The parts of a plugin in one language. */
export interface Template {
  /** What the plugin needs on the machine, as text for people. */
  readonly needs: string;
  /** The command to run before the plugin can be started. Default: none. */
  readonly build?: string;
  /** The path of the program, relative to the plugin's folder. */
  readonly program: string;
  readonly files: readonly TemplateFile[];
}

type Language = (typeof LANGUAGES)[number];

/** The files of a new plugin with one tool, which answers with its input. `tool` is letters, digits and `_`. */
export function pluginTemplate(language: Language, name: string, tool: string): Template {
  return TEMPLATES[language](name, tool);
}

/** The placeholder for the name of the tool. */
const TOOL = /\bTOOL\b/g;

const TEMPLATES: { readonly [L in Language]: (name: string, tool: string) => Template } = {
  ts(name, tool) {
    const text = TYPESCRIPT.replaceAll(TOOL, tool);
    const { typescript: runsTypes } = process.features as { readonly typescript?: unknown };
    const file = runsTypes ? { name: `${name}.ts`, text } : { name: `${name}.mjs`, text: text.replaceAll(TYPES, "") };
    return {
      needs: runsTypes ? "Node 22.18 or newer" : "Node (this one does not run TypeScript: it is JavaScript)",
      program: file.name,
      files: [{ ...file, isProgram: true }],
    };
  },
  python: (name, tool) => ({
    needs: "Python 3",
    program: `${name}.py`,
    files: [{ name: `${name}.py`, text: PYTHON.replaceAll(TOOL, tool), isProgram: true }],
  }),
  go: (name, tool) => ({
    needs: "Go",
    build: `go build -o ${name} .`,
    program: name,
    files: [
      { name: "main.go", text: GO.replaceAll(TOOL, tool) },
      { name: "go.mod", text: `module ${name}\n\ngo 1.21\n` },
    ],
  }),
  bash: (name, tool) => ({
    needs: "bash and jq",
    program: `${name}.sh`,
    files: [{ name: `${name}.sh`, text: BASH.replaceAll(TOOL, tool), isProgram: true }],
  }),
};

const TYPESCRIPT = `#!/usr/bin/env node
import { createInterface } from "node:readline";

const TOOLS = [
  {
    name: "TOOL",
    description: "Does something useful.",
    params_hint: "input (required)", // for people
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "What to work on" } },
      required: ["input"],
      examples: [{ input: "hello" }],
    },
  },
];

/** The work of a tool. What it throws becomes the call's error. */
async function run(name: string, params: { input: string }): Promise<string> {
  if (name !== "TOOL") throw new Error(\`unknown tool: \${name}\`);
  return \`Processed: \${params.input}\`;
}

function send(message: object): void {
  process.stdout.write(\`\${JSON.stringify(message)}\\n\`);
}

// stdout is for messages only: log with console.error.
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "init") send({ type: "init", tools: TOOLS });
  if (message.type !== "call") continue; // a type that this plugin does not know
  const { call_id, name, params } = message;
  run(name, params).then(
    (text) => send({ type: "result", call_id, content: [{ type: "text", text }], is_error: false }),
    (error) => send({ type: "result", call_id, content: [{ type: "text", text: String(error) }], is_error: true }),
  );
}
`;

/** The types in the program, to be removed for a Node version that cannot run them. */
const TYPES = /: (?:string|object|void|Promise<string>|\{ input: string \})(?=[,) ])/g;

const PYTHON = `#!/usr/bin/env python3
import json
import sys

TOOLS = [
    {
        "name": "TOOL",
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
    if name != "TOOL":
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
`;

const BASH = `#!/usr/bin/env bash
# Reads messages from stdin and writes messages to stdout, one JSON object a line. Log to stderr.

tools='[{
  "name": "TOOL",
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
    TOOL) echo "Processed: $(jq -r .input <<<"$params")" ;;
    *) echo "unknown tool: $name"; return 1 ;;
  esac
}

while IFS= read -r message; do
  case $(jq -r .type <<<"$message") in
    init) jq -cn --argjson tools "$tools" '{type: "init", $tools}' ;;
    call)
      error=false
      text=$(run "$(jq -r .name <<<"$message")" "$(jq -c .params <<<"$message")") || error=true
      jq -c --arg text "$text" --argjson error "$error" \\
        '{type: "result", call_id, content: [{type: "text", $text}], is_error: $error}' <<<"$message"
      ;;
  esac
done
`;

const GO = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

var tools = json.RawMessage(\`[{
	"name": "TOOL",
	"description": "Does something useful.",
	"params_hint": "input (required)",
	"parameters": {
		"type": "object",
		"properties": { "input": { "type": "string", "description": "What to work on" } },
		"required": ["input"],
		"examples": [{ "input": "hello" }]
	}
}]\`)

type message struct {
	Type   string         \`json:"type"\`
	Name   string         \`json:"name"\`
	CallID string         \`json:"call_id"\`
	Params map[string]any \`json:"params"\`
}

// run does the work of a tool. Its error becomes the call's error.
func run(name string, params map[string]any) (string, error) {
	if name != "TOOL" {
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
`;
