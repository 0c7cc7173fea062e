import { askFacts } from "../../src/machine/shell/facts.ts";
import type { LineEnd } from "../../src/machine/shell/transport.ts";
import PROCESSES from "../../src/machine/shell/processes.sh";
import READY from "../../src/machine/shell/ready.sh";
import { type Processes, createProcesses } from "../../src/machine/shell/processes.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import type { Command, Process } from "../../src/core/contract/backend.ts";
import { onAbort } from "../../src/core/util/abort.ts";
import { type LocalTransport, localTransport } from "../support/local-transport.ts";

/** Processes on a simulated remote system, which is this machine, over shells that are held open. */
export interface There {
  readonly folder: string;
  readonly transport: Stallable;
  readonly shells: Shells;
  readonly processes: Processes;
  /** Starts a process, by default in the folder. */
  start(argv: Command["argv"], command?: Omit<Command, "argv">): Promise<Process>;
  /** Runs a script to its end. */
  sh(script: string, command?: Omit<Command, "argv">): Promise<Process>;
  /** Returns how often the connection has been lost. */
  losses(): number;
  close(): Promise<void>;
}

/** A transport whose connection can hang. */
export interface Stallable extends LocalTransport {
  /** Makes the connection silent, as when its keep-alive has given up. The remote side stays as it is. */
  stall(): void;
}

export interface ThereOptions {
  /** The folder of remote temporary files, state and outputs. Commands run in it. */
  readonly folder: string;
  readonly shell?: readonly string[];
  readonly unclaimedSeconds?: number;
  /** The folder of remote temporary files. Default: `folder`. */
  readonly temporary?: string;
  readonly detachedOwner?: string;
  /** Run first by every shell. */
  readonly preamble?: string;
  readonly outputFolder?: string;
}

/** Opens the system, for programs that are not tests. */
export async function there({
  folder,
  shell = ["dash"],
  unclaimedSeconds = 600,
  detachedOwner = "test",
  preamble = "",
  outputFolder,
  temporary = folder,
}: ThereOptions): Promise<There> {
  const transport = stallable(shell);
  const opened: { processes?: Processes } = {};
  let losses = 0;
  const shells = await openShells({
    transport,
    preamble: () =>
      `TMPDIR=${temporary}; export TMPDIR; XDG_STATE_HOME=${folder}/state; export XDG_STATE_HOME\n${preamble}\n${READY}\n${PROCESSES}`,
    backOffMs: [0, 50, 200, 1_000],
    lost: () => losses++,
    reopened: async (first) => opened.processes?.reopened(first),
  });
  const asked = await shells.take();
  const facts = await askFacts(asked);
  shells.giveBack(asked);
  const processes = createProcesses({
    shells,
    facts,
    transport,
    outputFolder: outputFolder ?? `${folder}/outputs`,
    detachedOwner,
    unclaimedSeconds,
  });
  opened.processes = processes;
  const { start: begin } = processes;
  const start: There["start"] = (argv, command = {}) => begin({ argv, ...command }, { cwd: command.cwd ?? folder });
  const made: There = {
    folder,
    transport,
    shells,
    processes,
    start,
    async sh(script, command) {
      const process = await start(["sh", "-c", script], command);
      await process.exit;
      return process;
    },
    losses: () => losses,
    async close() {
      await processes.close();
      await shells.close();
    },
  };
  return made;
}

function stallable(shell: readonly string[]): Stallable {
  const reaches = [localTransport(shell)];
  let giveUp = new AbortController();
  const now = () => reaches.at(-1) ?? localTransport(shell);
  const { name, place, access, explain } = now();
  return {
    name,
    place,
    access,
    explain,
    async open(which) {
      const { signal } = giveUp;
      const { stdin, stdout, stderr, ended, kill } = await now().open(which);
      const stalled = new Promise<LineEnd>((resolve) => {
        onAbort(signal, () => resolve({ code: 255, signal: null, message: "it stands still" }));
      });
      return { stdin, stdout, stderr, ended: Promise.race([ended, stalled]), kill: () => signal.aborted || kill() };
    },
    async close() {
      await Promise.all(reaches.map((each) => each.close()));
    },
    cut: () => now().cut(),
    stall() {
      reaches.push(localTransport(shell));
      giveUp.abort();
      giveUp = new AbortController();
    },
  };
}
