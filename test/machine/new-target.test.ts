import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { TARGETS } from "../../src/machine/targets.ts";
import { runChecks } from "../../src/cli/doctor/check.ts";
import { checks } from "../../src/cli/doctor/checks.ts";
import { main } from "../../src/cli/program.ts";
import type { TargetKind } from "../../src/core/contract/target.ts";
import { asText } from "../../src/core/call/result.ts";
import { ioHere } from "../cli/program.ts";
import { mustBeHere } from "../support/here.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

/**
 * A folder of this machine whose commands run in a user namespace of their own: a kind of target, written with the
 * public contract alone.
 */
const unshared: TargetKind = {
  schemes: ["unshare"],
  address: "FOLDER",
  async open({ scheme, address }, { outputFolder, workDir = address }) {
    const inner = await local({ workDir, outputFolder });
    const { home, files, search, find } = inner;
    return {
      name: `${scheme}:${address}`,
      workDir: inner.workDir,
      home,
      files,
      spawn: ({ argv, ...command }) => inner.spawn({ ...command, argv: [...UNSHARE, ...argv] }),
      search,
      find,
      close: () => inner.close(),
    };
  },
  commandLine: {
    flag: "--unshare <folder>",
    description: "work in a folder whose commands have a user namespace of their own",
    use: "work in a namespace with --unshare folder",
    program: "unshare",
    package: "util-linux",
    look: async () => ({ works: true, detail: execFileSync("unshare", ["--version"], { encoding: "utf8" }).trim() }),
    fix: ({ address }) => `unshare --user ls ${address}`,
  },
};

const UNSHARE = ["unshare", "--user"] as const;

function problem(): string | undefined {
  try {
    execFileSync(UNSHARE[0], [...UNSHARE.slice(1), "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "unshare makes no user namespace here";
  }
}

/** In a namespace that maps no user every user is the kernel's overflow user. */
const NOBODY = "65534\n";

const why = problem();
mustBeHere("unshare", why);

describe.skipIf(why !== undefined)("a new kind of target", () => {
  /** What the command line prints, with the new kind beside the others. */
  const printed = async (...argv: readonly string[]): Promise<string> => {
    const { io, stdout } = ioHere();
    await main(argv, io, [unshared]);
    return stdout();
  };

  test("is opened by its name, and its commands run there", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({
      target: `unshare:${folder}`,
      targets: [unshared],
      preset: "coding",
      policy: { autonomy: "full" },
    });
    expect(toolkit.backend).toMatchObject({ name: `unshare:${folder}`, workDir: folder });
    expect(asText(await toolkit.call({ name: "bash", input: { command: "id -u" } }))).toBe(NOBODY);
  });

  test("has a flag, a line in help and checks in doctor, all from its entry", async () => {
    const folder = await workspace();
    expect(await printed("--help")).toMatch(/--unshare <folder> +work in a folder whose commands have/);
    const options = { io: ioHere().io, target: `unshare:${folder}`, targets: [unshared] };
    const named = checks(options).filter(({ name }) => ["unshare", "work folder"].includes(name));
    const [program, place] = await runChecks(named);
    expect(program).toMatchObject({ status: "ok", detail: expect.stringMatching(/: work in a namespace/) as string });
    expect(place).toMatchObject({
      status: "ok",
      detail: expect.stringContaining(`unshare:${folder} answers`) as string,
    });
    expect(await printed("call", "bash", '{"command":"id -u"}', "--unshare", folder, "--yes")).toBe(NOBODY);
  });

  test("an unknown kind is an error that names the known ones", async () => {
    await expect(toolkitWith({ target: "k8s:web", targets: [unshared], stateDir: temporaryFolder() })).rejects.toThrow(
      'no target "k8s:web": expected local, container:NAME, docker:NAME, podman:NAME, ssh:[USER@]HOST, worker:NAME[#ID], unshare:FOLDER, or a backend',
    );
  });
});

test("nothing outside its folder but the registry knows a kind of target", () => {
  const importsFrom = (folder: string) => new RegExp(`["'](?:\\./|[./]+machine/)${folder}/`);
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  for (const [folder = ""] of TARGETS.map(({ schemes }) => schemes)) {
    const importing = files
      .filter((file) => !file.startsWith(join("machine", folder)))
      .filter((file) => importsFrom(folder).test(readFileSync(join("src", file), "utf8")));
    expect(importing).toEqual([join("machine", "targets.ts")]);
  }
});
