import { hasTerminal } from "../terminal.ts";
import type { Check } from "./check.ts";

/** Checks where a person can be asked. */
export const approvals: Check = {
  name: "approvals",
  required: false,
  fix: "tty",
  async run() {
    if (hasTerminal()) return { status: "ok", detail: "approval questions appear on this terminal" };
    const detail = "no terminal here: calls that need approval are denied, unless an MCP client can ask";
    return { status: "missing", detail, fix: "handrail call … --yes   (approves in advance)" };
  },
};
