import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const folder = fileURLToPath(new URL("../examples/", import.meta.url));

describe("every example runs and its assertions hold", () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".mjs"))) {
    test(name, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [folder + name], { cwd: folder, timeout: 30_000 });
      expect(stdout).not.toBe("");
    });
  }
});
