import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { local } from "../../backends/local/backend.ts";
import { sandbox } from "../../backends/sandbox/sandbox.ts";
import type { Check } from "./check.ts";

/** Runs a command in the sandbox, and checks that what it may not write stays unchanged. */
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
          detail: `${state?.reason ?? "it is not installed."} Commands run without it, and more of them need approval`,
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
      const missing = state.missing.length === 0 ? "" : `. Limits on this machine: ${state.missing.join(" ")}`;
      return {
        status: "ok",
        detail: `commands run without network and write only the workspace${missing}`,
      };
    } finally {
      await backend.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};
