import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterFile } from "../support/after-file.ts";
import { remote } from "../../src/backends/remote/backend.ts";
import { type Facts, askFacts } from "../../src/backends/remote/facts.ts";
import { FILE_FUNCTIONS } from "../../src/backends/remote/files-script.ts";
import type { SearchWay } from "../../src/backends/remote/search.ts";
import type { Transport } from "../../src/backends/remote/transport.ts";
import { type Shells, openShells } from "../../src/backends/remote/shells.ts";
import type { Backend } from "../../src/contract/backend.ts";
import { installed, requireProgram } from "../support/here.ts";
import { localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** What stands for the other system: the shell and the programs that it has. */
export type System = "debian" | "busybox";

const opened: { close(): Promise<void> }[] = [];
afterFile(() => Promise.all(opened.splice(0).map((each) => each.close())));

/**
 * Another system, on this machine: with what it has, or with nothing but busybox. `way` is how it has to be searched; "grep and find" because it says that it is a machine for
 * which there is no ripgrep of ours.
 */
export async function backendThere(workDir: string, system: System, way: SearchWay): Promise<Backend> {
  const backend = await remote(transportOf(system, way, temporaryFolder()), {
    workDir,
    outputFolder: temporaryFolder(),
  });
  opened.push(backend);
  return backend;
}

/** The shells of such a system alone, and its home. */
export async function shellsThere(
  system: System,
): Promise<{ readonly shells: Shells; readonly facts: Facts; readonly home: string }> {
  const home = temporaryFolder();
  const shells = await openShells({
    transport: transportOf(system, "our ripgrep", home),
    preamble: () => FILE_FUNCTIONS,
  });
  opened.push(shells);
  const shell = await shells.take();
  const facts = await askFacts(shell);
  shells.giveBack(shell);
  return { shells, facts, home };
}

function transportOf(system: System, way: SearchWay, home: string): Transport {
  const first = way === "its own ripgrep" ? [folderWithRipgrep()] : [];
  const path = [...first, ...(system === "busybox" ? [busyboxFolder()] : ["/usr/bin", "/bin"])].join(":");
  const transport = localTransport(["/usr/bin/env", "-i", `HOME=${home}`, `PATH=${path}`, "sh"]);
  return {
    ...transport,
    async open(which) {
      const line = await transport.open(which);
      if (way === "grep and find") line.stdin.write(ANOTHER_MACHINE);
      return line;
    },
  };
}

/** As if it stood in the profile of a login there. */
const ANOTHER_MACHINE = 'uname() { case "$1" in -m) echo riscv64 ;; *) echo Linux ;; esac; }\n';

/** A folder with everything that busybox is, and nothing else. */
function busyboxFolder(): string {
  requireProgram("busybox");
  const busybox = installed("busybox") ?? "busybox";
  const folder = join(temporaryFolder(), "bin");
  mkdirSync(folder);
  const names = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n");
  for (const name of names) if (name !== "" && name !== "busybox") symlinkSync(busybox, join(folder, name));
  return folder;
}

function folderWithRipgrep(): string {
  const folder = temporaryFolder();
  symlinkSync(rgPath, join(folder, "rg"));
  return folder;
}
