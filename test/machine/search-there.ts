import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterFile } from "../support/after-file.ts";
import { remote } from "../../src/machine/shell/backend.ts";
import { type Facts, askFacts } from "../../src/machine/shell/facts.ts";
import FILES from "../../src/machine/shell/files.sh";
import PATHS from "../../src/machine/shell/path.sh";
import type { SearchWay } from "../../src/machine/shell/search.ts";
import type { Transport } from "../../src/machine/shell/transport.ts";
import { type Shells, openShells } from "../../src/machine/shell/shells.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import { installed, requireProgram } from "../support/here.ts";
import { localTransport } from "../support/local-transport.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** The simulated system: its shell and its programs. */
export type System = "debian" | "busybox";

const opened: { close(): Promise<void> }[] = [];
afterFile(() => Promise.all(opened.splice(0).map((each) => each.close())));

/**
 * Simulates another system on this machine, with its usual programs or only with busybox.
 *
 * @param way how it must be searched; for "grep and find" it reports an architecture for which we have no ripgrep
 */
export async function backendThere(workDir: string, system: System, way: SearchWay): Promise<Backend> {
  const backend = await remote(transportOf(system, way, temporaryFolder()), {
    workDir,
    outputFolder: temporaryFolder(),
  });
  opened.push(backend);
  return backend;
}

/** Returns only the shells of such a system, and its home. */
export async function shellsThere(
  system: System,
): Promise<{ readonly shells: Shells; readonly facts: Facts; readonly home: string }> {
  const home = temporaryFolder();
  const shells = await openShells({
    transport: transportOf(system, "our ripgrep", home),
    preamble: () => PATHS + FILES,
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

/** As if it were in the profile of the login. */
const ANOTHER_MACHINE = 'uname() { case "$1" in -m) echo riscv64 ;; *) echo Linux ;; esac; }\n';

/** Creates a folder with the programs of busybox, and nothing else. */
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
