import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { shellText } from "../../scripts/lib/shell-text.mjs";

const SOURCE = new URL("../../src/machine/", import.meta.url).pathname;

/** A separate program that holds remote shells open. */
export interface Holder {
  /** The process ids of its remote shells. */
  readonly shells: readonly number[];
  /** Ends it with SIGKILL. */
  kill(): void;
}

/**
 * Starts a program that opens two shells with `ssh/transport.ts#sshTransport` or
 * `container/transport.ts#containerTransport` and these options, and keeps them.
 */
export async function holdOpen(room: "ssh" | "container", options: object): Promise<Holder> {
  const folder = mkdtempSync(join(tmpdir(), "handrail-test-"));
  const program = `
import { ${room}Transport } from ${JSON.stringify(join(SOURCE, room, "transport.ts"))};
import { openShells } from ${JSON.stringify(join(SOURCE, "shell", "shells.ts"))};
const shells = await openShells({ transport: await ${room}Transport(${JSON.stringify(options)}), preamble: () => "" });
const second = await shells.take();
const pids = [await shells.ask("echo $$"), await second.ask("echo $$")].map(({ out }) => Number(out.toString()));
process.stdout.write(JSON.stringify(pids) + "\\n");
`;
  const entry = "\0holder";
  const bundle = await rolldown({
    input: entry,
    platform: "node",
    plugins: [
      shellText(),
      { name: "holder", resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? program : null) },
    ],
  });
  const file = join(folder, "holder.mjs");
  await bundle.write({ file, format: "esm" });
  await bundle.close();
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await new Promise<readonly string[]>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.endsWith("\n")) resolve([text]);
    });
    child.once("exit", (code) => reject(new Error(`the holder ended with ${code}`)));
  });
  rmSync(folder, { recursive: true });
  return { shells: JSON.parse(line ?? "[]") as number[], kill: () => void child.kill("SIGKILL") };
}
