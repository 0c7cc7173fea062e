import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBackend } from "../../backends/open.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";

/** The host or container that was named is really worked in: it is reached, a command runs there, a search too. */
export const placeOfWork = ({ ssh, container, workDir }: GlobalOptions): Check => ({
  name: "place of work",
  required: true,
  fix: ssh === undefined ? `docker inspect ${container ?? ""}` : `ssh ${ssh} true`,
  async run(signal) {
    const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
    const place = { ...(ssh !== undefined && { ssh }), ...(container !== undefined && { container }) };
    try {
      const backend = await openBackend(
        { ...place, ...(workDir !== undefined && { workDir }) },
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
        const search = await backend.helper("rg", ["--version"], { paths: [], signal });
        await search.endInput();
        await search.exit;
        const ripgrep = Buffer.from(await search.output.read(0, 100)).toString().split("\n")[0] ?? "";
        return {
          status: "ok",
          detail: `${backend.name} answers in ${answered.toFixed(1)} ms; work begins in ${backend.workDir}, commands run in ${backend.shell ?? "bash"}, searches with ${ripgrep}`,
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
