// What is mounted, as data: the order decides what a command sees, so it is checked without any sandbox.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ALL_FEATURES, bubblewrapWords } from "../../src/backends/sandbox/bubblewrap.ts";
import { type Facts, isHidden, isWritable, mountAbove, mountsOf } from "../../src/backends/sandbox/mounts.ts";

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
  test("puts a folder before what is in it, whatever characters names have", () => {
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

  test("shows a workspace in a hidden or private folder, and nothing beside it", () => {
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

  test("hides secrets in a workspace, opens what was granted, and keeps what lies deeper hidden", () => {
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

  test("pins the folders above what is read-only, so that they cannot be moved away with it", () => {
    expect(shown({ readOnly: ["/srv/ws/a/b/c", "/srv/ws/d"] }).filter((text) => text.includes("/srv"))).toEqual([
      "writable /srv/ws",
      "pin /srv/ws/a",
      "pin /srv/ws/a/b",
      "read-only /srv/ws/a/b/c",
      "read-only /srv/ws/d",
    ]);
  });

  test("does not touch what cannot be written or seen anyway", () => {
    const extra = {
      readOnly: ["/etc/x"],
      reopened: ["/usr/lib"],
      sockets: ["/run/docker.sock", "/tmp/a.sock", "/srv/b.sock"],
    };
    expect(shown(extra).filter((text) => /etc|usr|sock/.test(text))).toEqual(["nothing /srv/b.sock"]);
  });

  test("whatever is granted and hidden, the nearest word decides and nothing hidden is seen through a grant above it", () => {
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
  const wrapping = {
    features: ALL_FEATURES,
    mounts: [],
    cwd: "/srv/ws",
    env: { A: "1" },
    withoutEnv: ["B"],
    network: "own",
    diesWithParent: true,
  } as const;

  test("takes every namespace and every right away, whatever else is asked", () => {
    const words = bubblewrapWords(wrapping).join(" ");
    expect(words).toMatch(
      /^--unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --disable-userns --unshare-net --die-with-parent --new-session --cap-drop ALL --ro-bind \/ \/ /,
    );
    expect(words).toMatch(/--chdir \/srv\/ws --unsetenv B --setenv A 1 --seccomp 8 --json-status-fd 9$/);
  });

  test("leaves the network as it is entered, and lets what is detached live on", () => {
    const words = bubblewrapWords({ ...wrapping, network: "entered", diesWithParent: false });
    expect(words).not.toEqual(expect.arrayContaining(["--unshare-net"]));
    expect(words).not.toEqual(expect.arrayContaining(["--die-with-parent"]));
  });

  test("makes hidden folders read-only when all that is in them has its place", () => {
    const words = bubblewrapWords({
      ...wrapping,
      mounts: mountsOf(facts({ writable: ["/h/s/ws"], hidden: [closed("/h/s"), closed("/h/f", false)] })),
    }).join(" ");
    expect(words).toMatch(
      /--ro-bind \/dev\/null \/h\/f --perms 0111 --tmpfs \/h\/s --bind \/h\/s\/ws \/h\/s\/ws .*--remount-ro \/h\/s --chdir/,
    );
  });
});
