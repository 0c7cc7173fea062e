import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";

/** Gives each test that asks a new, empty folder, and removes it afterwards. */
export function testFolders(): () => Promise<string> {
  const made: string[] = [];
  afterEach(async () => {
    for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "handrail-output-"));
    made.push(folder);
    return folder;
  };
}
