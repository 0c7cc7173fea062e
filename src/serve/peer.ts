import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { isStartedByHandrail } from "../machine/spawner/marks.ts";
import { processStatus } from "../core/util/process-status.ts";
import { tried } from "../core/util/errors.ts";

/**
 * Returns true when a person's program is at the other end of a connection. False when Handrail started it for a
 * command of a model, and on this machine also when it cannot be found: a command can close the connection, exit or
 * hide. Programs of other users and the tunnels of sshd count as a person's, and so do other machines, which need the
 * token. Outside Linux nothing can be found out, and the token decides.
 */
export function isPeerPerson({ remoteAddress, remotePort, localPort, destroyed }: Socket): boolean {
  if (process.platform !== "linux") return true;
  if (destroyed || remoteAddress === undefined || remotePort === undefined) return false;
  if (!isOfThisMachine(remoteAddress)) return true;
  const client = clientOf(remotePort, localPort ?? 0);
  if (client === undefined) return false;
  if (client.user !== process.geteuid?.()) return true;
  const { holders, hidden } = holdersOf(`socket:[${client.inode}]`);
  if (holders.length > 0) return !holders.some((pid) => pid !== process.pid && isStartedByHandrail(pid));
  return hidden.length > 0 && hidden.every(isOfSshd);
}

function isOfThisMachine(address: string): boolean {
  const plain = address.replace(/^::ffff:/, "");
  if (plain.startsWith("127.")) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === plain));
}

/**
 * Returns the client's end of the connection between two ports (proc_net_tcp(5): addresses in hexadecimal, then columns
 * up to the user's id, the timeout and the inode).
 */
function clientOf(
  clientPort: number,
  serverPort: number,
): { readonly user: number; readonly inode: string } | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const line = new RegExp(
    `^ *\\d+: [0-9A-F]+:${hex(clientPort)} [0-9A-F]+:${hex(serverPort)} (?:\\S+ +){4}(\\d+) +\\S+ +(\\d+)`,
    "m",
  );
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const [, user, inode = "0"] = line.exec(readProcFile(table)) ?? [];
    if (inode !== "0") return { user: Number(user), inode }; // 0: it is closed
  }
  return undefined;
}

/** The processes that hold a socket, and those of this user whose files cannot be read. */
function holdersOf(socket: string): { readonly holders: readonly number[]; readonly hidden: readonly number[] } {
  const [holders, hidden]: [number[], number[]] = [[], []];
  for (const name of tried(() => readdirSync("/proc")) ?? []) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const files = tried(() => readdirSync(`/proc/${name}/fd`));
    if (files?.some((file) => tried(() => readlinkSync(`/proc/${name}/fd/${file}`)) === socket)) holders.push(pid);
    if (files === undefined && userOf(pid) === process.geteuid?.()) hidden.push(pid);
  }
  return { holders, hidden };
}

/** Whether a process is one of sshd's for a login: no command can become a child of root's sshd. */
function isOfSshd(pid: number): boolean {
  const parent = processStatus(pid)?.parent ?? 0;
  return userOf(parent) === 0 && readProcFile(`/proc/${parent}/comm`).startsWith("sshd");
}

/** The user that a process runs as; `undefined` if it is gone. Also known of processes that hide their files. */
function userOf(pid: number): number | undefined {
  const user = /^Uid:\s+\d+\s+(\d+)/m.exec(readProcFile(`/proc/${pid}/status`))?.[1];
  return user === undefined ? undefined : Number(user);
}

function readProcFile(file: string): string {
  return tried(() => readFileSync(file, "latin1")) ?? "";
}
