import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBackend } from "../../backends/open.ts";
import { searchWay } from "../../backends/remote/helper.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { GlobalOptions } from "../options.ts";
import { placeOf } from "../settings.ts";
import type { Check } from "./check.ts";

/** The host or container that was named is really worked in: it is reached, a command runs there, a search too. */
export const placeOfWork = (options: GlobalOptions): Check => ({
  name: "place of work",
  required: true,
  fix: options.ssh === undefined ? `docker inspect ${options.container ?? ""}` : `ssh ${options.ssh} true`,
  async run(signal) {
    const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
    try {
      const backend = await openBackend(
        { ...placeOf(options), ...(options.workDir !== undefined && { workDir: options.workDir }) },
        { outputFolder: folder, detached: { owner: "doctor", folder }, sandbox: { folder } },
      );
      try {
        const asked = performance.now();
        await backend.files.stat("/");
        const answered = performance.now() - asked;
        const child = await backend.spawn({ argv: ["sh", "-c", "echo out"], signal });
        await child.exit;
        const written = Buffer.from(await child.output.tail(100)).toString();
        if (written !== "out\n") throw new Error(`a command there wrote ${JSON.stringify(written)}, not "out"`);
        const search = await searchWay(backend);
        return {
          status: "ok",
          detail: `${backend.name} answers in ${answered.toFixed(1)} ms; work begins in ${backend.workDir}, commands run in ${backend.shell ?? "bash"}, searches with ${search ?? "ripgrep"}`,
        };
      } finally {
        await backend.close();
      }
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      return { status: "broken", detail: error.message, fix: error.hint ?? this.fix };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
});
