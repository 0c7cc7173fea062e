import { closeSync, openSync, readlinkSync } from "node:fs";
import { runProgram, startProgram } from "../../programs/start.ts";
import { systemProgram } from "../programs.ts";

/** A private network that has only a loopback. The commands of one backend share it, to reach each other's servers. */
export interface SharedNetwork {
  /** Words before bwrap, instead of `--unshare-net`. Valid until `close` or the end of this process. */
  readonly prefix: readonly string[];
  /** Releases the network. It disappears with the last command in it. */
  close(): Promise<void>;
}

/** Time limit for each step of its creation, in milliseconds. A step normally takes about ten. */
const PATIENCE = 5_000;

/**
 * Creates a shared network and tests that bwrap works in it, in about 20 ms. No process stays running: open files of
 * this process hold the namespaces, which therefore end with it. For an ordinary user (and for root if it is necessary)
 * the network has its own user namespace, which the prefix enters too.
 *
 * @returns `undefined` if it cannot be created: no bwrap or nsenter, or namespaces may not be created or entered.
 */
export async function openSharedNetwork(): Promise<SharedNetwork | undefined> {
  const [bubblewrap, nsenter] = [systemProgram("bwrap"), systemProgram("nsenter")];
  if (process.platform !== "linux" || bubblewrap === undefined || nsenter === undefined) return undefined;
  const ways = process.getuid?.() === 0 ? [[], ["--unshare-user"]] : [["--unshare-user"]];
  for (const way of ways) {
    const namespaces = await makeNamespaces([bubblewrap, ...way, "--unshare-net", ...VIEW]);
    if (namespaces === undefined) continue;
    const prefix = [nsenter, ...wordsFor(namespaces), "--"] as const;
    const own = ["--unshare-pid", ...VIEW, "--proc", "/proc", "--dev", "/dev", "/bin/true"];
    if (await works([...prefix, bubblewrap, ...own]))
      return { prefix, close: () => Promise.resolve(namespaces.close()) };
    namespaces.close();
  }
  return undefined;
}

const VIEW = ["--die-with-parent", "--ro-bind", "/", "/"];

/** Descriptors of namespace files; each keeps its namespace alive. No `user`: it is this process's own. */
interface Namespaces {
  readonly network: number;
  readonly user?: number;
  /** Works once: a closed descriptor's number may be reused. */
  close(): void;
}

function wordsFor({ network, user }: Namespaces): readonly string[] {
  const fileOf = (descriptor: number) => `/proc/${process.pid}/fd/${descriptor}`;
  const net = `--net=${fileOf(network)}`;
  return user === undefined ? [net] : [`--user=${fileOf(user)}`, "--preserve-credentials", net];
}

/** Creates namespaces: bwrap starts a shell in them, which waits until the namespace files are open. */
function makeNamespaces(maker: readonly [string, ...string[]]): Promise<Namespaces | undefined> {
  const holder = startProgram([...maker, "/bin/sh", "-c", "echo $$; read -r line"], {
    ...{ cwd: "/", isBare: true, stdio: "pipe", timeout: PATIENCE, killSignal: "SIGKILL" },
  });
  holder.stderr.resume();
  let line = "";
  let made: Namespaces | undefined;
  holder.stdin.on("error", () => {}); // the shell may have ended
  holder.stdout.setEncoding("latin1").on("data", (text: string) => {
    line += text;
    if (!line.endsWith("\n")) return;
    made = openNamespaces(Number(line));
    holder.stdin.end();
  });
  return new Promise((resolve) => {
    holder.once("error", () => resolve(undefined));
    holder.once("close", () => resolve(made));
  });
}

function openNamespaces(pid: number): Namespaces | undefined {
  const opened: number[] = [];
  const close = () => opened.splice(0).forEach((descriptor) => closeSync(descriptor));
  const open = (kind: string) => {
    const descriptor = openSync(`/proc/${pid}/ns/${kind}`, "r");
    opened.push(descriptor);
    return descriptor;
  };
  const isOwn = (kind: string) => readlinkSync(`/proc/${pid}/ns/${kind}`) === readlinkSync(`/proc/self/ns/${kind}`);
  try {
    if (isOwn("net")) return undefined;
    return { network: open("net"), ...(!isOwn("user") && { user: open("user") }), close };
  } catch {
    close();
    return undefined;
  }
}

async function works(argv: readonly [string, ...string[]]): Promise<boolean> {
  const ran = await runProgram(argv, { cwd: "/", isBare: true, timeout: PATIENCE }).catch(() => undefined);
  return ran?.code === 0;
}
