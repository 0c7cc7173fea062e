import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { findConfig, findProjectFile } from "../../../src/app/config/find.ts";
import { temporaryFolder } from "../../support/workspace.ts";

let root = "";

beforeEach(async () => {
  root = temporaryFolder();
  for (const folder of ["home/dev/project/src", "srv/app"]) await mkdir(join(root, folder), { recursive: true });
  vi.stubEnv("HOME", join(root, "home/dev"));
  vi.stubEnv("XDG_CONFIG_HOME", join(root, "config"));
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const write = async (path: string) => {
  await mkdir(join(root, path, ".."), { recursive: true });
  await writeFile(join(root, path), "");
  return join(root, path);
};

describe("the project's file", () => {
  test("is the nearest one, in the folder itself or above", async () => {
    const upper = await write("home/dev/project/handrail.yaml");
    expect(findProjectFile(join(root, "home/dev/project/src"))).toBe(upper);
    expect(findProjectFile(join(root, "home/dev/project"))).toBe(upper);
    const nearer = await write("home/dev/project/src/handrail.yaml");
    expect(findProjectFile(join(root, "home/dev/project/src"))).toBe(nearer);
  });

  test("is searched for up to and including the home folder, and no further", async () => {
    await write("home/handrail.yaml");
    expect(findProjectFile(join(root, "home/dev/project/src"))).toBeUndefined();
    const own = await write("home/dev/handrail.yaml");
    expect(findProjectFile(join(root, "home/dev/project/src"))).toBe(own);
  });

  test("is searched for up to the root if the folder is not in the home", async () => {
    const top = await write("handrail.yaml");
    expect(findProjectFile(join(root, "srv/app"))).toBe(top);
  });

  test("is that of the target folder of a link", async () => {
    await write("srv/handrail.yaml");
    const meant = await write("home/dev/project/handrail.yaml");
    await symlink(join(root, "home/dev/project/src"), join(root, "srv/link"));
    expect(findProjectFile(join(root, "srv/link"))).toBe(meant);
  });

  test("counts even if it is a broken link or a folder, so that it is not skipped", async () => {
    await symlink("nowhere", join(root, "srv/app/handrail.yaml"));
    expect(findProjectFile(join(root, "srv/app"))).toBe(join(root, "srv/app/handrail.yaml"));
    await mkdir(join(root, "home/dev/project/handrail.yaml"));
    expect(findProjectFile(join(root, "home/dev/project"))).toBe(join(root, "home/dev/project/handrail.yaml"));
  });

  test("is searched for from a missing folder too", async () => {
    const upper = await write("srv/handrail.yaml");
    expect(findProjectFile(join(root, "srv/none/deep"))).toBe(upper);
  });
});

describe("the files of a run", () => {
  test("are none if there are none", () => {
    expect(findConfig({ from: join(root, "home/dev/project") })).toEqual({});
  });

  test("are the user's and the project's, or the user's and the named one", async () => {
    const user = await write("config/handrail/config.yaml");
    const project = await write("srv/app/handrail.yaml");
    expect(findConfig({ from: join(root, "srv/app") })).toEqual({ user, project });
    expect(findConfig({ from: join(root, "srv/app"), named: "other.yaml" })).toEqual({
      user,
      named: join(process.cwd(), "other.yaml"),
    });
  });
});
