import { Unreachable } from "../../src/core/contract/failure.ts";
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Line, LineEnd, Transport } from "../../src/machine/shell/transport.ts";

/** A local transport, for tests without an engine or an sshd. */
export interface LocalTransport extends Transport {
  /** Cuts the connection: every shell is killed at once, with its process group. */
  cut(): void;
}

/** The text that reports the end of a local program. */
const MOST_SAID = 8_192;

/** How long the last output of a shell is read after its end, in milliseconds. */
const REST_MS = 100;

/** A shell of a connection, and how its end is reported. */
interface Opened {
  readonly child: ChildProcess;
  end(code: number | null, signal: string | null): void;
}

/**
 * Local shells in place of remote ones: `["dash"]`, `["busybox", "sh"]`, `["bash", "--posix"]`. As with a real
 * transport, all end with the first one.
 */
export function localTransport(argv: readonly string[]): LocalTransport {
  const [program = "sh", ...args] = argv;
  /** The shells of the open connection, the first one first. */
  let connection: Opened[] = [];

  const cut = () => {
    const [first, ...others] = connection;
    connection = [];
    for (const { child } of [first, ...others].filter((each) => each !== undefined)) killGroup(child);
    first?.end(null, "SIGKILL");
    // the first one is the connection, whose end is noticed there
    setImmediate(() => others.forEach(({ end }) => end(null, "SIGKILL")));
  };
  return {
    name: `transport:${argv.join(" ")}`,
    place: `the shell ${argv.join(" ")}`,
    access: { program: argv, options: [] },
    async open() {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
      const mine = connection;
      const { line, end } = lineTo(child, () => {
        if (mine !== connection) return;
        if (mine[0]?.child === child) cut();
        else
          connection.splice(
            mine.findIndex((each) => each.child === child),
            1,
          );
      });
      connection.push({ child, end });
      return line;
    },
    explain: async ({ code, signal, message }) =>
      new Unreachable(`the connection to the shell ${argv.join(" ")} was lost (${signal ?? code}): ${message}`, {
        mayPass: true,
      }),
    async close() {
      cut();
    },
    cut,
  };
}

function lineTo(
  child: ChildProcessWithoutNullStreams,
  gone: () => void,
): { readonly line: Line; readonly end: Opened["end"] } {
  let message = "";
  let problem: Error | undefined;
  child.stderr.on("data", (chunk: Buffer) => (message = (message + chunk.toString("utf8")).slice(-MOST_SAID)));
  child.once("error", (error) => (problem = error));
  let resolve: (end: LineEnd) => void;
  const ended = new Promise<LineEnd>((resolved) => (resolve = resolved));
  const end = (code: number | null, signal: string | null) =>
    resolve({ code, signal, message: problem?.message ?? message });
  const over = (code: number | null, signal: string | null) => {
    end(code, signal);
    gone();
  };
  child.once("close", over);
  // A process with its own session may hold the streams open; a real connection would be gone all the same.
  child.once("exit", (code, signal) => setTimeout(over, REST_MS, code, signal));
  const { stdin, stdout, stderr } = child;
  return { line: { stdin, stdout, stderr, ended, kill: () => killGroup(child) }, end };
}

/** Kills the shell and its process group. Processes with their own session are not touched, as on a remote host. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
