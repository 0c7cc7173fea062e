import { readFileSync, readlinkSync } from "node:fs";

/** A process, as the system shows it. */
interface Running {
  readonly words: readonly string[];
  readonly parent: number;
  readonly hasTerminal: boolean;
}

/** How many processes there may be between the hook and its client: shells that start it. */
const MOST_BETWEEN = 6;

/**
 * Whether the client that started this hook has nobody who answers its own questions. Gemini CLI waits without end for
 * an answer when it was started with a prompt (`gemini -p`), in CI or without a terminal, unless an editor runs it
 * (`--acp`); Claude Code refuses (`claude -p`). What cannot be seen counts as unattended for Gemini CLI.
 */
export function isUnattended(env: NodeJS.ProcessEnv, client: string): boolean {
  if (client === "claude-code") return env["CLAUDE_CODE_ENTRYPOINT"] === "sdk-cli" && !hasTool(clientAbove());
  if (client !== "gemini") return false;
  const above = clientAbove();
  if (above === undefined || env["CI"] === "true") return true;
  const has = (option: RegExp) => above.words.some((word) => option.test(word));
  return !has(/^--(?:experimental-)?acp$/) && (!above.hasTerminal || has(/^(?:-[a-z]*p|--prompt(?:=.*)?$)/s));
}

/** A program that answers in place of the person. */
function hasTool(above: Running | undefined): boolean {
  return above?.words.some((word) => word.startsWith("--permission-prompt-tool")) === true;
}

/** The first process above this one that is no shell. */
function clientAbove(): Running | undefined {
  let id = process.ppid;
  for (let between = 0; between < MOST_BETWEEN && id > 1; between += 1) {
    const found = runningOf(id);
    if (found === undefined) return undefined;
    if (!/(?:^|\/)-?(?:ba|da|z|k)?sh$/.test(found.words[0] ?? "")) return found;
    id = found.parent;
  }
  return undefined;
}

/** `undefined` where the system does not show it: proc(5) is Linux's. */
function runningOf(id: number): Running | undefined {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    const [, parent = ""] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${id}/status`, "utf8")) ?? [];
    const isTerminal = (stream: number) => /^\/dev\/(?:pts\/|tty)/.test(readlinkSync(`/proc/${id}/fd/${stream}`));
    return { words, parent: Number(parent), hasTerminal: isTerminal(0) && isTerminal(1) };
  } catch {
    return undefined;
  }
}
