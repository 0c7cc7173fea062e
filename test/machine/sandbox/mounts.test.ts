// The mounts, as data: their order decides what a command sees, so it is checked without a sandbox.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ALL_FEATURES, type Contained, bubblewrapWords } from "../../../src/machine/sandbox/wrap/bubblewrap.ts";
import { type Facts, isHidden, isWritable, mountAbove, mountsOf } from "../../../src/machine/sandbox/mounts/mounts.ts";

const facts = (more: Partial<Facts>): Facts => ({
  writable: ["/srv/ws"],
  readOnly: [],
  hidden: [],
  reopened: [],
  sockets: [],
  temporary: [{ at: "/tmp", from: "/p/tmp" }],
  emptied: ["/run"],
  given: [],
  settings: [],
  ownProcesses: true,
  ...more,
});
const closed = (path: string, isFolder = true) => ({ path, as: "closed", isFolder }) as const;
const shown = (more: Partial<Facts>) => mountsOf(facts(more)).map(({ kind, at }) => `${kind} ${at}`);

describe("mountsOf", () => {
  test("lists a folder before its content, whatever characters names have", () => {
    expect(shown({ writable: ["/a", "/a-b", "/a/b"], hidden: [closed("/a/b-c"), closed("/a/b")] })).toEqual([
      "writable /a",
      "closed /a/b-c",
      "writable /a-b",
      "devices /dev",
      "processes /proc",
      "empty /run",
      "private /tmp",
    ]);
  });

  test("keeps hidden what may not be written either, unless it was opened", () => {
    const both = { readOnly: ["/srv/ws/.npmrc"], hidden: [closed("/srv/ws/.npmrc", false)] };
    expect(shown(both)).toContain("nothing /srv/ws/.npmrc");
    expect(shown({ ...both, reopened: ["/srv/ws/.npmrc"] })).toContain("read-only /srv/ws/.npmrc");
  });

  test("shows a workspace in a hidden or private folder, and nothing next to it", () => {
    const mounts = mountsOf(
      facts({ writable: ["/tmp/x/ws", "/h/.config/ws"], hidden: [closed("/h/.config"), closed("/h/.config/gh")] }),
    );
    expect(mounts.filter(({ kind }) => kind === "closed")).toEqual([{ kind: "closed", at: "/h/.config", holds: true }]);
    expect(
      ["/h/.config/ws/a", "/h/.config/gh", "/tmp/x/ws/a", "/tmp/x/a", "/etc"].map((path) => [
        isWritable(mounts, path),
        isHidden(mounts, path),
      ]),
    ).toEqual([
      [true, false],
      [false, true],
      [true, false],
      [true, true],
      [false, false],
    ]);
  });

  test("hides secrets in a workspace, opens what was granted, and keeps deeper secrets hidden", () => {
    const mounts = mountsOf(
      facts({
        writable: ["/h"],
        hidden: [closed("/h/.ssh"), closed("/h/.config"), closed("/h/.config/gh")],
        reopened: ["/h/.config"],
      }),
    );
    expect(mounts.map(({ kind, at }) => `${kind} ${at}`).filter((text) => text.includes("/h"))).toEqual([
      "writable /h",
      "reopened /h/.config",
      "closed /h/.config/gh",
      "closed /h/.ssh",
    ]);
  });

  test("pins the folders above what is read-only, so that they cannot be moved with it", () => {
    expect(shown({ readOnly: ["/srv/ws/a/b/c", "/srv/ws/d"] }).filter((text) => text.includes("/srv"))).toEqual([
      "writable /srv/ws",
      "pin /srv/ws/a",
      "pin /srv/ws/a/b",
      "read-only /srv/ws/a/b/c",
      "read-only /srv/ws/d",
    ]);
  });

  test("does not mount over what is inaccessible anyway", () => {
    const extra = {
      readOnly: ["/etc/x"],
      reopened: ["/usr/lib"],
      sockets: ["/run/docker.sock", "/tmp/a.sock", "/srv/b.sock"],
    };
    expect(shown(extra).filter((text) => /etc|usr|sock/.test(text))).toEqual(["nothing /srv/b.sock"]);
  });

  test("the nearest entry decides, and a grant above does not show what is hidden", () => {
    const path = fc
      .array(fc.constantFrom("a", "b", "a-b"), { minLength: 1, maxLength: 4 })
      .map((parts) => `/${parts.join("/")}`);
    const paths = fc.uniqueArray(path, { maxLength: 4 });
    fc.assert(
      fc.property(paths, paths, paths, path, (writable, secrets, reopened, asked) => {
        const mounts = mountsOf(facts({ writable, reopened, hidden: secrets.map((secret) => closed(secret)) }));
        const nearest = [...writable, ...secrets, ...reopened]
          .filter((at) => asked === at || asked.startsWith(`${at}/`))
          .toSorted((one, other) => other.length - one.length)[0];
        if (nearest === undefined) {
          expect(mountAbove(mounts, asked)).toBeUndefined();
          return;
        }
        const isOpen = writable.includes(nearest) || reopened.includes(nearest);
        expect(isHidden(mounts, asked)).toBe(!isOpen);
        if (writable.includes(nearest)) expect(isWritable(mounts, asked)).toBe(true);
        if (secrets.includes(nearest) && !isOpen) expect(isWritable(mounts, asked)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("bubblewrapWords", () => {
  const command: Contained = { cwd: "/srv/ws", env: { A: "1", "B=": "2" }, isDetached: false, hasOwnNetwork: true };

  test("unshares every namespace and drops every right, whatever else is requested", () => {
    const words = bubblewrapWords(ALL_FEATURES, [], command).join(" ");
    expect(words).toMatch(
      /^--unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --disable-userns --unshare-net --die-with-parent --new-session --cap-drop ALL --ro-bind \/ \/ /,
    );
    expect(words).toMatch(/--chdir \/srv\/ws (--unsetenv [A-Z_]+ )+--setenv A 1 --seccomp 8 --json-status-fd 9$/);
    for (const name of ["HANDRAIL_SANDBOX", "SSH_AUTH_SOCK", "DOCKER_HOST"])
      expect(words).toContain(`--unsetenv ${name} `);
  });

  test("keeps the network that it enters, and keeps detached commands alive", () => {
    const words = bubblewrapWords(ALL_FEATURES, [], { ...command, isDetached: true, hasOwnNetwork: false });
    expect(words).not.toEqual(expect.arrayContaining(["--unshare-net"]));
    expect(words).not.toEqual(expect.arrayContaining(["--die-with-parent"]));
  });

  test("makes hidden folders read-only once all their content is mounted", () => {
    const words = bubblewrapWords(
      ALL_FEATURES,
      mountsOf(facts({ writable: ["/h/s/ws"], hidden: [closed("/h/s"), closed("/h/f", false)] })),
      command,
    ).join(" ");
    expect(words).toMatch(
      /--ro-bind \/dev\/null \/h\/f --perms 0111 --tmpfs \/h\/s --bind \/h\/s\/ws \/h\/s\/ws .*--remount-ro \/h\/s --chdir/,
    );
  });
});
