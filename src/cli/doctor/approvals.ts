import { hasTerminal } from "../terminal.ts";
import type { Check } from "./check.ts";

/** Where a person can be asked. */
export const approvals: Check = {
  name: "approvals",
  required: false,
  fix: "tty",
  async run() {
    if (hasTerminal()) return { status: "ok", detail: "questions are asked on this terminal" };
    const detail = "no terminal here: what would be asked is denied, unless an MCP client can ask";
    return { status: "missing", detail, fix: "handrail call … --yes   (approves in advance)" };
  },
};
