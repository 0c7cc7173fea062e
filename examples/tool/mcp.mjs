#!/usr/bin/env node
// The tool as an MCP server, for the folder that the client starts it in.
import { createToolkit } from "handrail";
import { serveStdio } from "handrail/mcp";
import tool from "./tool.mjs";

await serveStdio(await createToolkit({ tools: [tool] }), { closeToolkit: true }).closed;
