import { describe, expect, test } from "vitest";
import type { Refusal } from "../../src/contract/containment.ts";
import { describeRefusals } from "../../src/output/describe-refusals.ts";

describe("what a model reads of refusals", () => {
  test.each<[string, readonly Refusal[], string]>([
    [
      "a path",
      [{ kind: "write", path: "/usr/x" }],
      'The sandbox refused to write /usr/x: only the workspace and temporary files are writable. If it is needed, run it again with write: ["/usr/x"]; a person is asked.',
    ],
    [
      "a hidden file",
      [{ kind: "read", path: "/home/me/.netrc" }],
      'The sandbox does not show /home/me/.netrc: it hides where secrets are kept, and has temporary folders of its own. If it is needed, run it again with read: ["/home/me/.netrc"], or with write; a person is asked.',
    ],
    [
      "what was made and put aside",
      [{ kind: "held-back", path: "/ws/sub/.git/config" }],
      'What it made in /ws/sub/.git/config was put aside: it would lead git to programs for whoever looks at the repository later. If that is meant, run it again with write: ["/ws/sub/.git/config"]; a person is asked.',
    ],
    [
      "a host, without the port that need not be named",
      [{ kind: "host", host: "a.example.org:443" }, { kind: "host", host: "b.example.org:8080" }, { kind: "network" }],
      'The sandbox refused to reach a.example.org, b.example.org:8080: a command has no network but the hosts it names. If it is needed, run it again with network: ["a.example.org","b.example.org:8080"]; a person is asked.',
    ],
    [
      "a host that asking again would not open",
      [{ kind: "host", host: "10.0.0.1", reason: "it is a private address" }],
      "The sandbox refused to reach 10.0.0.1: it is a private address.",
    ],
    [
      "the network as such",
      [{ kind: "network" }],
      'The sandbox has no network. If it is needed, run it again with network: ["the host"]; a person is asked.',
    ],
    [
      "a system call",
      [{ kind: "system-call", what: "Bad system call" }],
      "The sandbox refused a system call: Bad system call.",
    ],
    [
      "limits, each once",
      [
        { kind: "limit", what: "processes" },
        { kind: "limit", what: "processes" },
        { kind: "limit", what: "disk" },
      ],
      "It started more processes than a command in the sandbox may have. It was stopped because the disk was nearly full.",
    ],
    ["nothing", [], ""],
  ])("names %s", (_, refusals, text) => {
    expect(describeRefusals(refusals)).toBe(text);
  });

  test("names five paths, counts the rest, and repeats none", () => {
    const paths = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/a"];
    const text = describeRefusals(paths.map((path) => ({ kind: "write", path })));
    expect(text).toContain("/a, /b, /c, /d, /e and 2 more:");
    expect(text).toContain('write: ["/a","/b","/c","/d","/e"]');
  });

  test("offers nothing to ask for where the workspace is read-only", () => {
    const words = describeRefusals([{ kind: "write", path: "/srv/ws/a" }], true);
    expect(words).toContain("the autonomy is read-only");
    expect(words).not.toContain("run it again");
  });
});
