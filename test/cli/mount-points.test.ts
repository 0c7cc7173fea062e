import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mountPoints } from "../../src/cli/doctor/mount-points.ts";
import { noSandbox } from "../machine/sandbox/world.ts";
import { temporaryFolder } from "../support/workspace.ts";

test.skipIf(noSandbox !== undefined)(
  "doctor says whether bubblewrap follows a planted link out, as it does here",
  async () => {
    const folder = temporaryFolder();
    for (const name of ["ws", "out"]) mkdirSync(join(folder, name));
    symlinkSync(`/oldroot${folder}/out`, join(folder, "ws", "link"));
    const at = join(folder, "ws");
    try {
      execFileSync("bwrap", ["--ro-bind", "/", "/", "--bind", at, at, "--tmpfs", join(at, "link", "made"), "true"]);
    } catch {
      // a mended one refuses
    }
    const { status, detail } = await mountPoints(AbortSignal.timeout(30_000));
    expect(status).toBe("ok");
    expect(detail).toContain("GHSA-pxhw-h44j-8pfx");
    expect(detail.startsWith("bubblewrap follows a planted link out")).toBe(existsSync(join(folder, "out", "made")));
  },
);
