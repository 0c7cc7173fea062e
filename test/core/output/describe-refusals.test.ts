import { expect, test } from "vitest";
import type { Refusal } from "../../../src/core/contract/containment.ts";
import { describeRefusals, describeSourceRefusals } from "../../../src/core/output/describe-refusals.ts";

test.each<[string, readonly Refusal[], string]>([
  [
    "a hidden path",
    [{ kind: "read", path: "/home/me/.netrc" }],
    "The sandbox hides /home/me/.netrc, like all keys and secrets. If the command needs this, run it again with " +
      'read: ["/home/me/.netrc"]; a person is asked.',
  ],
  [
    "a file that was held back",
    [{ kind: "held-back", path: "/ws/sub/.git/config" }],
    "The sandbox disabled /ws/sub/.git/config: it would make git run programs outside the sandbox. " +
      'If the command needs this, run it again with write: ["/ws/sub/.git/config"]; a person is asked.',
  ],
  [
    "hosts, without the ports of the web",
    [
      { kind: "host", host: "a.example.org:443" },
      { kind: "host", host: "b.example.org:8080" },
    ],
    "The sandbox refused to connect to a.example.org, b.example.org:8080: a command reaches only the hosts that the " +
      'call names. If the command needs this, run it again with network: ["a.example.org","b.example.org:8080"]; ' +
      "a person is asked.",
  ],
  [
    "a host that asking would not open",
    [{ kind: "host", host: "10.0.0.1", reason: "it is a private address" }],
    "The sandbox refused to connect to 10.0.0.1: it is a private address.",
  ],
  [
    "a probable cause with the argument that helps",
    [{ kind: "likely", what: "network" }],
    "The sandbox has no network except the hosts that the call names, through its proxy (HTTPS_PROXY). " +
      'If the command needs a host, run it again with network: ["HOST"]; a person is asked.',
  ],
  [
    "limits, each once",
    [
      { kind: "limit", what: "processes" },
      { kind: "limit", what: "processes" },
      { kind: "limit", what: "disk" },
    ],
    "The command reached the sandbox's limit on processes. " +
      "The sandbox stopped the command because the disk was nearly full.",
  ],
  ["nothing", [], ""],
])("a model reads of %s", (_, refusals, text) => {
  expect(describeRefusals(refusals)).toBe(text);
});

test("five paths are named, the others are counted, and none is repeated", () => {
  const paths = ["/a", "/b", "/c", "/d", "/e", "/f", "/g", "/a"];
  const text = describeRefusals(paths.map((path) => ({ kind: "read", path })));
  expect(text).toContain("/a, /b, /c, /d, /e and 2 more,");
  expect(text).toContain('read: ["/a","/b","/c","/d","/e"]');
});

test("no argument is suggested if the workspace is read-only", () => {
  const text = describeRefusals([{ kind: "likely", what: "write" }], true);
  expect(text).toContain("the autonomy is read-only");
  expect(text).not.toContain("run it again");
});

test("what a plugin or a server was refused names the remedy in its configuration", () => {
  expect(describeSourceRefusals([{ kind: "likely", what: "network" }])).toBe(
    "The sandbox has no network except the hosts that its configuration names: add hosts: [HOST]",
  );
  expect(
    describeSourceRefusals([
      { kind: "read", path: "/home/me/.aws" },
      { kind: "host", host: "example.org:443" },
      { kind: "limit", what: "memory" },
    ]),
  ).toBe(
    "The sandbox hides /home/me/.aws: install it elsewhere, or configure sandbox: false. " +
      "The sandbox refused to connect to example.org: name what it needs as hosts: in its configuration. " +
      "It reached the sandbox's limit on memory",
  );
});
