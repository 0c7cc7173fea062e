import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { local } from "../../backends/local/backend.ts";
import { sandbox } from "../../backends/sandbox/sandbox.ts";
import type { Check } from "./check.ts";

/** A command really runs in the sandbox, and what it may not write stays as it is. */
export const sandboxed: Check = {
  name: "sandbox",
  required: false,
  fix: "bwrap --unshare-all --ro-bind / / true",
  async run(signal) {
    const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
    const inner = await local({ workDir: folder, outputFolder: join(folder, "outputs") });
    const backend = await sandbox(inner, { required: true, folder: join(folder, "sandbox") });
    try {
      const state = await backend.sandbox?.state();
      if (state?.works !== true) {
        return {
          status: "missing",
          detail: `${state?.reason ?? "it is not there."} Commands run without it, and more is asked about`,
          fix: state?.fix ?? "",
        };
      }
      const outside = join(inner.home, `.handrail-doctor-${process.pid}`);
      const child = await backend.spawn({
        argv: ["sh", "-c", 'touch "$0" 2>/dev/null && echo written || echo held', outside],
        signal,
      });
      await child.exit;
      const written = Buffer.from(await child.output.tail(100)).toString();
      if (written !== "held\n")
        throw new Error(`a command in it could write ${outside} (it wrote ${JSON.stringify(written)})`);
      const missing = state.missing.length === 0 ? "" : `. What it does not do here: ${state.missing.join(" ")}`;
      return {
        status: "ok",
        detail: `commands are contained: no network, and only the workspace is written${missing}`,
      };
    } finally {
      await backend.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};
