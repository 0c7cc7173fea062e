import { chmod, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTrust } from "../../../src/app/config/trust.ts";
import { asOrdinaryUser } from "./config.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const file = { path: "/p/handrail.yaml", sha256: "a".repeat(64) };

describe("trust", () => {
  test("is for a file with exactly its content", async () => {
    const trust = createTrust(temporaryFolder());
    expect(await trust.standing(file)).toBe("never trusted");
    await trust.record(file);
    expect(await trust.standing(file)).toBe("trusted");
    expect(await trust.standing({ ...file, sha256: "b".repeat(64) })).toBe("changed");
    expect(await trust.standing({ ...file, path: "/q/handrail.yaml" })).toBe("never trusted");
  });

  test("is kept in complete private files, and nothing else is left", async () => {
    const state = join(temporaryFolder(), "deep/state");
    await createTrust(state).record(file);
    await createTrust(state).record({ ...file, sha256: "c".repeat(64) });
    const names = await readdir(join(state, "trusted"));
    expect(names).toHaveLength(1);
    const kept = join(state, "trusted", names[0]!);
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    expect((await stat(join(state, "trusted"))).mode & 0o777).toBe(0o700);
    expect(JSON.parse(await readFile(kept, "utf8"))).toEqual({ path: file.path, sha256: "c".repeat(64) });
  });

  test("given to many files at once is recorded for all", async () => {
    const state = temporaryFolder();
    const files = Array.from({ length: 30 }, (_, index) => ({ path: `/p${index}/handrail.yaml`, sha256: file.sha256 }));
    await Promise.all(files.map((each) => createTrust(state).record(each)));
    expect(await createTrust(state).list()).toEqual(files.toSorted((a, b) => (a.path < b.path ? -1 : 1)));
  });

  test("can be revoked", async () => {
    const trust = createTrust(temporaryFolder());
    expect(await trust.revoke(file.path)).toBe(false);
    await trust.record(file);
    expect(await trust.revoke(file.path)).toBe(true);
    expect(await trust.standing(file)).toBe("never trusted");
    expect(await trust.list()).toEqual([]);
  });

  test.for(["", "{", "[]", "null", '{"path":7}', '{"path":"/other","sha256":"x"}', "\xff"])(
    "is not given by a record that contains %j",
    async (content) => {
      const state = temporaryFolder();
      const trust = createTrust(state);
      await trust.record(file);
      const [name] = await readdir(join(state, "trusted"));
      await writeFile(join(state, "trusted", name!), Buffer.from(content, "latin1"));
      expect(await trust.standing(file)).toBe("never trusted");
    },
  );

  test("fails when it cannot be recorded", async () => {
    const state = temporaryFolder();
    await chmod(state, 0o500);
    await asOrdinaryUser(() => expect(createTrust(state).record(file)).rejects.toThrow(/EACCES/));
    expect(await readdir(state)).toEqual([]);
  });
});
