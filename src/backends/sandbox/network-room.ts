import { spawn } from "node:child_process";
import { closeSync, openSync, readlinkSync } from "node:fs";
import { systemProgram } from "./programs.ts";

/** A private network with nothing but its own loopback, for the commands of one backend: a server in one is reached from another. */
export interface NetworkRoom {
  /** Words in front of bwrap, which then needs no `--unshare-net`. They hold as long as this process lives and the room is not closed. */
  readonly prefix: readonly string[];
  /** Lets go of the network; it is gone with the last command in it. */
  close(): Promise<void>;
}

/** How long its making may take, in milliseconds; it takes some ten. */
const PATIENCE = 5_000;

/**
 * Makes one, and tries that bwrap works in it. Costs some 20 ms; nothing stays running: the namespaces are held by open files of this
 * process alone, so that they go with it however it ends. As an ordinary user (or as root where that is not enough) the room has a user
 * namespace too, which the prefix enters as well.
 *
 * @returns `undefined` where it cannot be had: no bwrap or nsenter, or namespaces that may not be made or entered.
 */
export async function openNetworkRoom(): Promise<NetworkRoom | undefined> {
  const [bubblewrap, nsenter] = [systemProgram("bwrap"), systemProgram("nsenter")];
  if (process.platform !== "linux" || bubblewrap === undefined || nsenter === undefined) return undefined;
  const ways = process.getuid?.() === 0 ? [[], ["--unshare-user"]] : [["--unshare-user"]];
  for (const way of ways) {
    const namespaces = await makeNamespaces([
      bubblewrap,
      ...way,
      "--unshare-net",
      "--die-with-parent",
      "--ro-bind",
      "/",
      "/",
    ]);
    if (namespaces === undefined) continue;
    const prefix = [nsenter, ...wordsFor(namespaces), "--"];
    if (await works([...prefix, bubblewrap])) return roomOf(prefix, namespaces);
    namespaces.close();
  }
  return undefined;
}

/** Open files of the kernel's; each keeps its namespace alive. `user` is missing where it is our own. */
interface Namespaces {
  readonly network: number;
  readonly user?: number;
  close(): void;
}

function roomOf(prefix: readonly string[], namespaces: Namespaces): NetworkRoom {
  let open = true;
  return {
    prefix,
    close() {
      if (open) namespaces.close(); // once: the number of a closed file may be another's
      open = false;
      return Promise.resolve();
    },
  };
}

function wordsFor({ network, user }: Namespaces): readonly string[] {
  const fileOf = (descriptor: number) => `/proc/${process.pid}/fd/${descriptor}`;
  const net = `--net=${fileOf(network)}`;
  return user === undefined ? [net] : [`--user=${fileOf(user)}`, "--preserve-credentials", net];
}

/** bwrap makes them and sets up loopback for a shell, which says who it is and waits until their files are open. */
function makeNamespaces(maker: readonly [string, ...string[]]): Promise<Namespaces | undefined> {
  const [program, ...args] = [...maker, "/bin/sh", "-c", "echo $$; read -r line"];
  const holder = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], timeout: PATIENCE, killSignal: "SIGKILL" });
  let said = "";
  let made: Namespaces | undefined;
  holder.stdin.on("error", () => {}); // it may have ended
  holder.stdout.setEncoding("latin1").on("data", (text: string) => {
    said += text;
    if (!said.endsWith("\n")) return;
    made = openNamespaces(Number(said));
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

/** bwrap has to nest in the room, with a /proc of its own. */
function works([program = "", ...args]: readonly string[]): Promise<boolean> {
  const view = ["--unshare-pid", "--die-with-parent", ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]];
  const inside = [...view, "/bin/sh", "-c", ":"];
  const attempt = spawn(program, [...args, ...inside], { stdio: "ignore", timeout: PATIENCE, killSignal: "SIGKILL" });
  return new Promise((resolve) => {
    attempt.once("error", () => resolve(false));
    attempt.once("close", (code) => resolve(code === 0));
  });
}
