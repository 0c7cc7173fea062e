// What people read when there can be no sandbox: from real output of bubblewrap, and for machines of many kinds.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import { ALL_FEATURES, type Features } from "../../../src/machine/sandbox/wrap/bubblewrap.ts";
import { type Machine, explained, impossible, thisMachine } from "../../../src/machine/sandbox/wrap/unavailable.ts";
import { keptProbe } from "../../../src/machine/sandbox/wrap/kept-probe.ts";
import { missingOf, probe, withLess } from "../../../src/machine/sandbox/wrap/probe.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const machine = ({
  settings = {},
  ...more
}: Partial<Machine> & { settings?: { [name: string]: string } } = {}): Machine => ({
  platform: "linux",
  isContainer: false,
  setting: (name) => settings[name] ?? "",
  ...more,
});

const NO_PERMISSIONS =
  "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.\n";
const APPARMOR = { "kernel.apparmor_restrict_unprivileged_userns": "1" };

describe("why there is no sandbox", () => {
  test.each<[string, string, Machine, RegExp, RegExp]>([
    [
      "Ubuntu 24.04's AppArmor",
      "bwrap: setting up uid map: Permission denied\n",
      machine({ settings: APPARMOR }),
      /^AppArmor .*Permission denied/,
      /apparmor\.d\/bwrap.*apparmor_restrict_unprivileged_userns=0/,
    ],
    [
      "the same, seen at the loopback",
      "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n",
      machine({ settings: APPARMOR }),
      /^AppArmor /,
      /userns, /,
    ],
    [
      "namespaces turned off, Debian's way",
      NO_PERMISSIONS,
      machine({ settings: { "kernel.unprivileged_userns_clone": "0" } }),
      /turned off.*unprivileged_userns_clone/,
      /sysctl -w kernel\.unprivileged_userns_clone=1/,
    ],
    [
      "namespaces turned off, by their number",
      "bwrap: Creating new namespace failed: No space left on device\n",
      machine({ settings: { "user.max_user_namespaces": "0" } }),
      /max_user_namespaces/,
      /sysctl -w user\.max_user_namespaces=15000/,
    ],
    [
      "too many of them",
      "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n",
      machine(),
      /max_user_namespaces/,
      /15000/,
    ],
    [
      "Docker's seccomp",
      NO_PERMISSIONS,
      machine({ isContainer: true }),
      /^Handrail runs in a container/,
      /--security-opt seccomp=unconfined/,
    ],
    [
      "Docker's seccomp, as root",
      "bwrap: Creating new namespace failed: Operation not permitted\n",
      machine({ isContainer: true }),
      /^Handrail runs in a container/,
      /seccomp=unconfined/,
    ],
    [
      "Docker's AppArmor",
      "bwrap: Failed to make / slave: Permission denied\n",
      machine({ isContainer: true }),
      /^Handrail runs in a container/,
      /apparmor=unconfined/,
    ],
    [
      "an unknown wall",
      NO_PERMISSIONS,
      machine(),
      /does not let bubblewrap create namespaces \(bwrap: No permissions/,
      /sysctl/,
    ],
    [
      "anything else",
      "note\nbwrap: Something new went wrong.\n",
      machine(),
      /^bubblewrap does not work here: bwrap: Something new went wrong\.$/,
      /bwrap --ro-bind/,
    ],
    ["silence", "", machine(), /it printed nothing/, /newer bubblewrap/],
  ])("%s", (_, output, where, reason, fix) => {
    const said = explained(output, where);
    expect(said.works).toBe(false);
    expect(said.reason).toMatch(reason);
    expect(said.fix).toMatch(fix);
  });

  test.each<[string, Machine, string, RegExp]>([
    ["macOS", machine({ platform: "darwin" }), "/ws", /macOS/],
    ["the whole machine", machine(), "/", /whole machine/],
  ])("cannot be: %s", (_, where, workDir, reason) => {
    expect(impossible(where, workDir)?.reason).toMatch(reason);
  });

  test("this machine may have one", () => {
    expect(impossible(thisMachine(), "/ws")).toBeUndefined();
  });
});

describe("trying", () => {
  const root = temporaryFolder();
  mkdirSync(join(root, "ws"));
  const inner = local({ workDir: join(root, "ws"), outputFolder: join(root, "outputs") });
  afterAll(async () => (await inner).close());

  /** A bwrap that rejects options like an older or restricted one. */
  const bwrap = (script: string): string => {
    const path = join(root, "bwrap");
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const words = (program: string) => (features: Features) => [
    program,
    ...Object.entries(features).flatMap(([name, has]) => (has ? [name] : [])),
  ];

  test.each<[string, string, Partial<Features>]>([
    [
      "0.6, which has no --disable-userns",
      'case "$*" in *noUsers*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; esac',
      { noUsers: false },
    ],
    [
      "one in a container, which may not mount /proc",
      'case "$*" in *processes*) echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1;; esac',
      { processes: false },
    ],
    [
      "one that lacks several",
      'case "$*" in *noUsers*) echo "bwrap: Unknown option --disable-userns" >&2; exit 1;; *permissions*) echo "bwrap: Unknown option --perms" >&2; exit 1;; *filter*) echo "bwrap: prctl(PR_SET_SECCOMP): Invalid argument" >&2; exit 1;; esac',
      { noUsers: false, permissions: false, filter: false },
    ],
    ["one that can do all", "exit 0", {}],
  ])("%s is used without that", async (_, script, less) => {
    const probed = await probe(await inner, words(bwrap(script)));
    expect(probed).toEqual({ works: true, features: { ...ALL_FEATURES, ...less } });
  });

  test("what a probe found is kept for the next session, until bubblewrap changes or a start fails", () => {
    const program = bwrap("exit 0");
    const found = { ...ALL_FEATURES, processes: false };
    const kept = () => keptProbe(root, program, ALL_FEATURES);
    expect(kept().read()).toBeUndefined();
    kept().keep(found);
    expect(kept().read()).toEqual(found);
    expect(keptProbe(root, program, { ...ALL_FEATURES, filter: false }).read()).toBeUndefined();
    bwrap("exit 0 # a newer one");
    expect(kept().read()).toBeUndefined();
    kept().keep(found);
    kept().forget();
    expect(kept().read()).toBeUndefined();
    writeFileSync(join(root, "probe.json"), '{"condi');
    expect(kept().read()).toBeUndefined();
  });

  test("a sandbox that never works is reported with its output", async () => {
    const probed = await probe(
      await inner,
      words(bwrap('echo "bwrap: setting up uid map: Permission denied" >&2; exit 1')),
    );
    expect(probed).toEqual({ works: false, output: "bwrap: setting up uid map: Permission denied\n" });
    expect(await probe(await inner, () => [join(root, "none")])).toMatchObject({
      works: false,
      output: expect.stringMatching("no such file"),
    });
  });

  test("each missing feature is a sentence; negligible ones are not mentioned", () => {
    expect(missingOf(ALL_FEATURES)).toEqual([]);
    expect(missingOf({ ...ALL_FEATURES, cgroup: false, processes: false })).toEqual([
      expect.stringMatching(/^Commands can see .*\.$/),
    ]);
    expect(withLess(ALL_FEATURES, "bwrap: something else")).toBeUndefined();
  });
});
