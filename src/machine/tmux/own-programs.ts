import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { ProgramMissing, findProgram, programPath } from "../programs/programs.ts";

type Inner = Pick<Backend, "spawn" | "access" | "isFar">;

const isOfThisMachine = ({ access, isFar }: Inner) => access === undefined && isFar !== true;

/**
 * Starts a program that serves the terminal itself. On this machine its script finds tmux and other programs only where
 * no tool can write.
 */
export function spawnOwn(inner: Inner, command: Command): Promise<Process> {
  const env = isOfThisMachine(inner) ? { PATH: programPath(), ...command.env } : command.env;
  return inner.spawn({ ...command, ...(env !== undefined && { env }) });
}

/** @throws ToolFailure if the tmux of this machine is only where tools can write. */
export function requireClosedTmux(inner: Inner): void {
  if (!isOfThisMachine(inner)) return;
  try {
    findProgram("tmux");
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    if (error.onlyIn !== undefined) throw new ToolFailure(error.message, { cause: error });
  }
}
