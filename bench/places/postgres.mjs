import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const versions = "/usr/lib/postgresql";
const bin = existsSync(versions)
  ? readdirSync(versions)
      .map((version) => join(versions, version, "bin"))
      .find((folder) => existsSync(join(folder, "initdb")))
  : undefined;

/**
 * Starts a PostgreSQL server with its usual settings, as the user postgres, and creates the tables of a store.
 *
 * @param {string} folder
 */
export async function server(folder) {
  const id = (/** @type {string} */ flag) => Number(execFileSync("id", [flag, "postgres"]).toString());
  const user = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : {};
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  execFileSync(join(bin ?? "", "initdb"), ["-D", data, "--auth=trust", "--username=bench"], { ...user, cwd: "/" });
  const port = 40_000 + (process.pid % 20_000);
  const settings = ["listen_addresses=127.0.0.1", `port=${port}`, "unix_socket_directories="];
  const flags = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(join(bin ?? "", "postgres"), flags, { ...user, cwd: "/", stdio: "ignore" });
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  for (let attempt = 0; ; attempt++) {
    try {
      execFileSync(process.execPath, [program, "store", "migrate", "--to", url], { stdio: "pipe" });
      break;
    } catch (error) {
      if (attempt > 20) throw error;
    }
  }
  return { url, pid: child.pid ?? 0, end: () => void child.kill("SIGINT") };
}
