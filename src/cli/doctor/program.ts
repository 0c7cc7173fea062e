import { foundProgram } from "../../machine/programs/programs.ts";
import { startProgram } from "../../machine/programs/start.ts";

/**
 * Runs a program and resolves to the first line of its output. Kills it, with its process group, when the signal fires.
 *
 * @throws Error when it cannot be started or fails.
 */
export async function firstLineOf(argv: readonly [string, ...string[]], signal: AbortSignal): Promise<string> {
  const child = startProgram(argv, { cwd: "/", stdio: "pipe", detached: true });
  child.stdin.end();
  child.stderr.resume();
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The program has ended already.
    }
  };
  signal.addEventListener("abort", kill, { once: true });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(0, 10_000)));
  try {
    const code = await new Promise<number | string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (status, by) => {
        // Output may arrive after the exit, but a child process may hold the pipe open forever.
        setTimeout(() => resolve(status ?? by ?? "unknown"), 100).unref();
        child.stdout.once("close", () => resolve(status ?? by ?? "unknown"));
      });
    });
    if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}`);
    return output.split("\n")[0]?.trim() ?? "";
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
    child.stdout.destroy();
  }
}

/** Returns the command that installs a package on this system. */
export function installCommand(name: string, { PATH: path }: NodeJS.ProcessEnv): string {
  const isHere = (program: string) => foundProgram(program, { path }) !== undefined;
  const [, command = "apt-get install"] = MANAGERS.find(([program]) => isHere(program)) ?? [];
  const asRoot = command.startsWith("brew") || process.getuid?.() === 0 ? "" : "sudo ";
  return `${asRoot}${command} ${name}`;
}

const MANAGERS: readonly (readonly [program: string, command: string])[] = [
  ["brew", "brew install"],
  ["apt-get", "apt-get install"],
  ["dnf", "dnf install"],
  ["apk", "apk add"],
  ["pacman", "pacman -S"],
  ["zypper", "zypper install"],
];
