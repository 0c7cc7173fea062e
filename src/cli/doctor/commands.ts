import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { local } from "../../backends/local/backend.ts";
import { quoteWord } from "../../util/quote.ts";
import type { Check } from "./check.ts";

/** Runs a command, and checks that its output comes back. */
export const commands: Check = {
  name: "commands",
  required: true,
  fix: `df -h ${quoteWord(tmpdir())} && ls -ld ${quoteWord(tmpdir())}`,
  async run(signal) {
    const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
    const backend = await local({ workDir: folder, outputFolder: join(folder, "outputs") });
    try {
      const child = await backend.spawn({ argv: ["sh", "-c", "echo out; echo error >/dev/stderr"], signal });
      const exit = await child.exit;
      const written = Buffer.from(await child.output.tail(100)).toString();
      if (exit.how !== "exited" || exit.code !== 0 || written !== "out\nerror\n") {
        throw new Error(`a command ended as ${JSON.stringify(exit)} and wrote ${JSON.stringify(written)}`);
      }
      return { status: "ok", detail: "a command ran and its output was read" };
    } finally {
      await backend.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};
